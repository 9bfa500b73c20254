import type { Event } from "../api/schema";

/** What an event can change, as keys of the cache: a noun, and the id of one if it is about one. */
export type Key = readonly [noun: string, id?: string];

const WORDS = new Set(["run.said", "run.tool", "run.progress"]);
const SILENT = new Set(["run.thought", "run.result"]);
const FREQUENT = new Set([...WORDS, "run.changed", "run.used", "run.session"]);
const LANES = new Set(["run", "task", "account"]);
const RESHAPES = new Set([
  ...["task.added", "task.edited", "task.completed", "task.failed", "task.cancelled"],
  "task.retried",
]);

/** Does the event only tell what an agent says or does? */
export function isTalk(event: Event): boolean {
  return WORDS.has(event.kind);
}

/** Which parts of the cache an event makes old. The log of a task is extended instead. */
export function touched(event: Event): Key[] {
  const about = event.kind.split(".", 1)[0];
  const task = event.task;
  const printed: Key[] = task ? [["output", task]] : [];
  if (isTalk(event) || SILENT.has(event.kind)) return printed;
  const keys: Key[] = [["board"], ...printed];
  if (task) keys.push(["details", task]);
  if (task && !FREQUENT.has(event.kind)) {
    keys.push(["tasks", task], ["moves", task], ["diff", task], ["notes", task]);
  }
  if (task && about === "review") keys.push(["reviews", task]);
  if (task && (event.kind === "task.rejected" || event.kind === "task.approved")) {
    keys.push(["reviews", task]);
  }
  if (RESHAPES.has(event.kind)) keys.push(["dependencies"]);
  if (LANES.has(about ?? "") && !FREQUENT.has(event.kind)) keys.push(["runs"]);
  if (event.kind === "run.used") keys.push(["costs"]);
  if (COUNTED.has(event.kind)) keys.push(["trends"], ["agents"]);
  if (about && !FREQUENT.has(event.kind)) keys.push(...(NOUNS[about] ?? []));
  return keys;
}

/** What changes how the fleet has done, and who is at work. */
const COUNTED = new Set([
  ...["task.added", "task.completed", "task.failed", "task.cancelled"],
  ...["run.started", "run.ended", "run.failed", "account.rests", "budget.warned"],
]);

const NOUNS: Record<string, readonly Key[]> = {
  account: [["rests"]],
  blackboard: [["swarms"], ["posts"]],
  checkpoint: [["checkpoints"]],
  config: [["settings"], ["coders"], ["costs"]],
  conflict: [["conflicts"]],
  files: [["claims"]],
  memory: [["memories"]],
  message: [["mail"]],
  repo: [["repos"]],
  run: [["agents"], ["workers"], ["workflows"], ["conflicts"]],
  runner: [["agents"]],
  swarm: [["swarms"], ["workers"]],
  task: [["workers"], ["workflows"], ["conflicts"], ["claims"]],
  team: [["teams"]],
  token: [["tokens"]],
};
