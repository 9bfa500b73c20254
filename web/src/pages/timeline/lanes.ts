import type { Agent, Event, Run, Task } from "../../api/schema";
import type { Tasks } from "../../live/cache";
import { type Shown, shown } from "../../parts/state";

/** How a run is drawn: in the colour of a state, or as spent, if its work did not count. */
export type Look = Shown | "limit" | "spent";

export interface Bar {
  run: Run;
  task: Task | undefined;
  look: Look;
  since: number;
  /** When it ended; nothing while it goes on. */
  until: number | undefined;
  /** When what it made reached the trunk. */
  landed: number | undefined;
  /** What came after it: an answer, a reviewer, a limit or another try was waited for. */
  wait: { look: Look; until: number | undefined; text: string } | undefined;
}

export interface Lane {
  id: string;
  name: string;
  host: string;
  bars: Bar[];
}

const LIMITS = new Set(["quota", "rate_limit", "auth"]);
const UNFINISHED = new Set(["pending", "asking", "review"]);

/** Agents by name, each with its runs from first to last. */
export function lanesOf(
  runs: readonly Run[],
  tasks: Tasks,
  agents: readonly Agent[],
  log: readonly Event[],
): Lane[] {
  const lanes = new Map<string, Lane>();
  const lane = (name: string, host: string): Lane => {
    const id = `${name} ${host}`;
    const known = lanes.get(id) ?? { id, name, host, bars: [] };
    lanes.set(id, known);
    return known;
  };
  for (const agent of agents) lane(agent.name, agent.host);
  const landings = landingsOf(log);
  const tries = new Map<string, Run[]>();
  for (const run of runs) tries.set(run.task, [...(tries.get(run.task) ?? []), run]);
  for (const run of runs) {
    const later = tries.get(run.task)?.find((each) => each.number > run.number);
    const task = tasks.get(run.task);
    lane(run.agent, run.host).bars.push(barOf(run, task, later, landings.get(run.task)));
  }
  return [...lanes.values()].sort((one, other) =>
    one.id.localeCompare(other.id, "en", { numeric: true }),
  );
}

function landingsOf(log: readonly Event[]): Map<string, number> {
  const landings = new Map<string, number>();
  for (const event of log) {
    if (event.task && event.data.landed) landings.set(event.task, Date.parse(event.at));
  }
  return landings;
}

function barOf(
  run: Run,
  task: Task | undefined,
  later: Run | undefined,
  landing: number | undefined,
): Bar {
  const isLast = later === undefined && (task === undefined || task.runs <= run.number);
  const made = run.outcome === "submitted" && isLast;
  const look = lookOf(run, task, isLast);
  const landed = made ? landing : undefined;
  const until = run.ended_at ? Date.parse(run.ended_at) : undefined;
  const waits = until !== undefined && (later || landed || UNFINISHED.has(task?.state ?? ""));
  const end = later ? Date.parse(later.started_at) : landed;
  const wait = waits ? { look: waitOf(run, look), until: end, text: waitText(run) } : undefined;
  return { run, task, look, since: Date.parse(run.started_at), until, landed, wait };
}

function lookOf(run: Run, task: Task | undefined, isLast: boolean): Look {
  if (!run.outcome) return "running";
  if (run.reason && LIMITS.has(run.reason)) return "limit";
  if (run.outcome === "asked") return "asking";
  if (run.outcome === "failed") return isLast && task?.state === "failed" ? "failed" : "spent";
  if (run.outcome !== "submitted") return "spent";
  if (!isLast) return "spent";
  const state = task ? shown(task) : "completed";
  return state === "pending" || state === "failed" ? "spent" : state;
}

function waitOf(run: Run, look: Look): Look {
  if (run.outcome === "asked") return "asking";
  return look === "completed" ? "landing" : look;
}

function waitText(run: Run): string {
  if (run.outcome === "asked") return "waits for an answer";
  if (run.outcome === "submitted") return "waits to land";
  return run.reason && LIMITS.has(run.reason)
    ? "waits for a limit to end"
    : "waits for another try";
}

/** The bars and waits that can be seen in a window. */
export function seen(bar: Bar, since: number, until: number, now: number): boolean {
  const last = bar.wait ? (bar.wait.until ?? now) : (bar.until ?? now);
  return bar.since < until && Math.max(last, bar.landed ?? 0, bar.until ?? now) > since;
}

/** What the pieces of a lane say of how a run went. */
export function storyOf(bar: Bar): string {
  const { run } = bar;
  if (!run.outcome) return "at work";
  if (run.outcome === "submitted") return bar.landed ? "landed" : "submitted its work";
  if (run.outcome === "asked") return "asked a question";
  const reason = run.reason ? `: ${run.reason.replaceAll("_", " ")}` : "";
  return `${run.outcome}${reason}`;
}
