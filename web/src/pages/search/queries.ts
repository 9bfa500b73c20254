import { useQuery } from "@tanstack/react-query";
import { api, told } from "../../api/client";

/** The tasks most similar to a query, the best first. */
export function useAlike(query: string) {
  return useQuery({
    queryKey: ["alike", query],
    staleTime: 0,
    queryFn: () => told(api.GET("/api/v1/search", { params: { query: { query } } })),
  });
}
