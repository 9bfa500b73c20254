import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, told } from "../../api/client";
import { pageOf, type Window } from "./period";

const LATEST = 1000;

/** The runs of a window; while those of another are read, the last ones stay. */
export function useRuns(window: Window) {
  const page = pageOf(window);
  return useQuery({
    queryKey: ["runs", String(page.since), String(page.until)],
    placeholderData: keepPreviousData,
    queryFn: () => told(api.GET("/api/v1/runs/during", { params: { query: texts(page) } })),
  });
}

/** When work landed, and when accounts reached a limit. */
export function useMoments() {
  const kinds = ["task.completed", "account.rests"];
  return useQuery({
    queryKey: ["runs", "moments"],
    queryFn: () =>
      told(
        api.GET("/api/v1/events", { params: { query: { kinds, newest: true, limit: LATEST } } }),
      ),
  });
}

export function useAgents() {
  return useQuery({ queryKey: ["agents"], queryFn: () => told(api.GET("/api/v1/agents")) });
}

function texts({ since, until }: Window) {
  return { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
}
