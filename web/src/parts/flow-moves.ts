import { api, told } from "../api/client";
import type { FlowMove, Removed } from "../api/schema";
import { cache } from "../live/cache";
import { attempt } from "./toasts";

/** What each move of a workflow is called, and what is said when it is done. */
export const FLOW_MOVES: Record<FlowMove, { text: string; title?: string; done: string }> = {
  cancel: { text: "Cancel", done: "Cancelled; work so far is archived" },
  retry: { text: "Retry", done: "What had failed is back in the queue" },
  clean_up: { text: "Clean up", title: "Remove its branches and worktrees", done: "Cleaned up" },
};

/** Do with a workflow what the core allows; `report` gets what a clean-up has removed. */
export async function performFlow(
  move: FlowMove,
  ref: string,
  report?: (removed: readonly Removed[]) => void,
): Promise<void> {
  const at = { params: { path: { ref } } };
  const acts: Record<FlowMove, () => Promise<unknown>> = {
    cancel: () => api.POST("/api/v1/workflows/{ref}/cancel", at),
    retry: () => api.POST("/api/v1/workflows/{ref}/retry", { ...at, body: {} }),
    clean_up: async () => {
      const removed = await told(api.POST("/api/v1/workflows/{ref}/cleanup", at));
      report?.(removed);
    },
  };
  await attempt(async () => {
    await acts[move]();
    await cache.invalidateQueries({ queryKey: ["workflows"] });
  }, FLOW_MOVES[move].done);
}
