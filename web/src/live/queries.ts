import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, told } from "../api/client";
import { cache, newest, type Tasks, withNews, withTalk } from "./cache";

const PAGE = 1000;
const LOG = 500;
const HEARTBEAT_MS = 10_000;

export function useBoard() {
  const read = async () => withTalk(await told(api.GET("/api/v1/board")));
  return useQuery({ queryKey: ["board"], queryFn: read });
}

/** All tasks by id: read once, then kept by events. */
export function useTasks() {
  return useQuery({ queryKey: ["tasks"], queryFn: allTasks });
}

export function useDetails(ref: string) {
  return useQuery({
    queryKey: ["details", ref],
    queryFn: () => told(api.GET("/api/v1/tasks/{ref}/details", { params: { path: { ref } } })),
  });
}

export function useMoves(ref: string | undefined) {
  return useQuery({ ...moves(ref ?? ""), enabled: ref !== undefined });
}

/** What may be done with a task now: as it is known, or as the core says when asked. */
export function movesOf(ref: string) {
  return cache.fetchQuery(moves(ref));
}

function moves(ref: string) {
  return {
    queryKey: ["moves", ref],
    queryFn: () => told(api.GET("/api/v1/tasks/{ref}/moves", { params: { path: { ref } } })),
  };
}

export function useEvents(task: string) {
  return useQuery({
    queryKey: ["events", task],
    queryFn: async () => {
      const query = { task, newest: true, limit: LOG };
      return withNews(await told(api.GET("/api/v1/events", { params: { query } })), task);
    },
  });
}

export function useDiff(ref: string) {
  return useQuery({
    queryKey: ["diff", ref],
    queryFn: () =>
      told(api.GET("/api/v1/tasks/{ref}/diff", { params: { path: { ref } }, parseAs: "text" })),
  });
}

/** What a run has changed so far, as it is when it is asked for: edits are in no event. */
export function useWorkSoFar(run: string) {
  return useQuery({
    queryKey: ["diff", run],
    staleTime: 0,
    queryFn: () =>
      told(
        api.GET("/api/v1/tasks/{ref}/diff", { params: { path: { ref: run } }, parseAs: "text" }),
      ),
  });
}

export function useOutput(ref: string) {
  return useQuery({
    queryKey: ["output", ref],
    staleTime: 0,
    queryFn: () =>
      told(
        api.GET("/api/v1/tasks/{ref}/output", {
          params: { path: { ref }, query: { lines: 500 } },
          parseAs: "text",
        }),
      ),
  });
}

export function useReviews(ref: string) {
  return useQuery({
    queryKey: ["reviews", ref],
    queryFn: () => told(api.GET("/api/v1/tasks/{ref}/reviews", { params: { path: { ref } } })),
  });
}

export function useNotes(ref: string) {
  return useQuery({
    queryKey: ["notes", ref],
    queryFn: () => told(api.GET("/api/v1/tasks/{ref}/notes", { params: { path: { ref } } })),
  });
}

export function useRepos() {
  return useQuery({ queryKey: ["repos"], queryFn: () => told(api.GET("/api/v1/repos")) });
}

export function useConflicts() {
  return useQuery({
    queryKey: ["conflicts"],
    queryFn: () => told(api.GET("/api/v1/conflicts")),
  });
}

/** Seats and machines. Heartbeats are not in the log, so this is read again while it is shown. */
export function useCrew() {
  return useQuery({
    queryKey: ["agents"],
    queryFn: () => told(api.GET("/api/v1/crew")),
    refetchInterval: HEARTBEAT_MS,
  });
}

export function useRests() {
  return useQuery({ queryKey: ["rests"], queryFn: () => told(api.GET("/api/v1/rests")) });
}

export function useWorkflows() {
  return useQuery({ queryKey: ["workflows"], queryFn: () => told(api.GET("/api/v1/workflows")) });
}

export function useWorkflow(ref: string) {
  return useQuery({
    queryKey: ["workflows", ref],
    queryFn: () => told(api.GET("/api/v1/workflows/{ref}", { params: { path: { ref } } })),
  });
}

/** What every stage of a workflow has come to so far. */
export function useResults(ref: string) {
  return useQuery({
    queryKey: ["workflows", ref, "results"],
    queryFn: () =>
      told(
        api.GET("/api/v1/workflows/{ref}/results", {
          params: { path: { ref }, query: { every: true } },
        }),
      ),
  });
}

export function useSwarms(all: boolean) {
  return useQuery({
    queryKey: ["swarms", all],
    queryFn: () => told(api.GET("/api/v1/swarms", { params: { query: { all } } })),
  });
}

export function useSwarm(ref: string) {
  return useQuery({
    queryKey: ["swarms", ref],
    queryFn: () => told(api.GET("/api/v1/swarms/{ref}", { params: { path: { ref } } })),
  });
}

export function useWorkers() {
  return useQuery({ queryKey: ["workers"], queryFn: () => told(api.GET("/api/v1/workers")) });
}

export interface PostFilter {
  type?: string;
  priority?: string;
  unread_only?: boolean;
}

export function usePosts(swarm: string, filter: PostFilter, enabled: boolean) {
  return useQuery({
    queryKey: ["posts", swarm, filter],
    enabled,
    placeholderData: keepPreviousData,
    queryFn: () =>
      told(api.GET("/api/v1/swarms/{swarm}/posts", { params: { path: { swarm }, query: filter } })),
  });
}

/** The handle under which whoever is signed in speaks. */
export function useOwnHandle() {
  return useQuery({ queryKey: ["handle"], queryFn: () => told(api.GET("/api/v1/handle")) });
}

/** Mail and handoffs for a handle, the newest first. */
export function useMail(handle: string, enabled: boolean) {
  const params = { query: handle ? { handle } : {} };
  return useQuery({
    queryKey: ["mail", handle],
    enabled,
    queryFn: async () => {
      const [mail, handoffs] = await Promise.all([
        told(api.GET("/api/v1/mail", { params })),
        told(api.GET("/api/v1/handoffs", { params })),
      ]);
      return [...mail, ...handoffs].sort((a, b) => b.sent_at.localeCompare(a.sent_at));
    },
  });
}

export function useCheckpoints(handle: string, enabled: boolean) {
  return useQuery({
    queryKey: ["checkpoints", handle],
    enabled,
    queryFn: () =>
      told(api.GET("/api/v1/checkpoints", { params: { query: handle ? { handle } : {} } })),
  });
}

/** Every page is shown as it comes; what events have brought meanwhile stays. */
/** Page by page: what was read is shown while the rest comes. */
async function allTasks(): Promise<Tasks> {
  let cursor: string | null | undefined;
  for (;;) {
    const query = { limit: PAGE, ...(cursor ? { cursor } : {}) };
    const page = await told(api.GET("/api/v1/tasks", { params: { query } }));
    const found = newest(cache.getQueryData<Tasks>(["tasks"]) ?? new Map(), page.tasks);
    cursor = page.next_cursor;
    if (!cursor) return found;
    cache.setQueryData(["tasks"], found);
  }
}

export function useCosts(hours: number, by: string) {
  return useQuery({
    queryKey: ["costs", by, hours],
    placeholderData: keepPreviousData,
    queryFn: () =>
      told(api.GET("/api/v1/costs", { params: { query: { since: `-${hours}h`, by: [by] } } })),
  });
}

/** The limits on today's cost, and what is spent of them. */
export function useLimits() {
  return useQuery({
    queryKey: ["costs", "limits"],
    queryFn: async () => (await told(api.GET("/api/v1/status"))).limits,
  });
}

export function useTrends(hours: number) {
  return useQuery({
    queryKey: ["trends", hours],
    placeholderData: keepPreviousData,
    queryFn: () => told(api.GET("/api/v1/trends", { params: { query: { hours } } })),
  });
}

export function useAgents() {
  return useQuery({ queryKey: ["agents"], queryFn: () => told(api.GET("/api/v1/agents")) });
}

/** The end of the log, which goes on by itself. */
export function useLog() {
  return useQuery({
    queryKey: ["events"],
    queryFn: async () => {
      const query = { newest: true, limit: LOG };
      return withNews(await told(api.GET("/api/v1/events", { params: { query } })));
    },
  });
}

/** What has all words of a query; nothing is asked for none. */
export function useFound(query: string) {
  return useQuery({
    queryKey: ["found", query],
    enabled: query !== "",
    placeholderData: keepPreviousData,
    queryFn: () => told(api.GET("/api/v1/find", { params: { query: { query } } })),
  });
}

export function useSettings(isAllowed: boolean) {
  return useQuery({
    queryKey: ["settings"],
    enabled: isAllowed,
    queryFn: () => told(api.GET("/api/v1/settings")),
  });
}

export function useCoders(isAllowed: boolean) {
  return useQuery({
    queryKey: ["coders"],
    enabled: isAllowed,
    queryFn: () => told(api.GET("/api/v1/coders")),
  });
}

/** What the doctor finds: it asks every program, which takes seconds. */
export function useDoctor(isAllowed: boolean) {
  return useQuery({
    queryKey: ["doctor"],
    enabled: isAllowed,
    queryFn: () => told(api.GET("/api/v1/doctor")),
  });
}
