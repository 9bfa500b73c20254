import { useQuery } from "@tanstack/react-query";
import { api, told } from "../../api/client";
import type { Dependencies } from "../../api/schema";

/** What the core says about how tasks wait for each other. */
export function useDependencies() {
  return useQuery({
    queryKey: ["dependencies"],
    queryFn: () => told(api.GET("/api/v1/dependencies")) as Promise<Dependencies>,
  });
}

export function useWorkflows() {
  return useQuery({
    queryKey: ["dependencies", "workflows"],
    queryFn: () => told(api.GET("/api/v1/workflows")),
  });
}
