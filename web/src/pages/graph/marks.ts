import type { Dependencies, Task } from "../../api/schema";
import { type Shown, shown } from "../../parts/state";
import type { Edge } from "./picture";

/** What the core says about the graph, by task. */
export interface Marks {
  critical: readonly string[];
  /** How many tasks each one holds up. */
  holds: ReadonlyMap<string, number>;
  /** The failed tasks that hold up others, and all that they hold up. */
  failures: ReadonlySet<string>;
  held: ReadonlySet<string>;
  /** What waits for an unfinished task. */
  waits: ReadonlySet<string>;
}

export function marksOf(told: Dependencies): Marks {
  return {
    critical: told.critical_path,
    holds: new Map([
      ...told.holds_up,
      ...told.failures.map(([id, held]) => [id, held.length] as const),
    ]),
    failures: new Set(told.failures.map(([id]) => id)),
    held: new Set(told.failures.flatMap(([, held]) => held)),
    waits: new Set(told.tasks.flatMap(([phase, task]) => (phase > 0 ? [task.id] : []))),
  };
}

export function stateOf(task: Task, marks: Marks): Shown {
  const isBlocked = marks.waits.has(task.id) || marks.held.has(task.id);
  return task.state === "pending" && isBlocked ? "blocked" : shown(task);
}

export type Weight = "plain" | "critical" | "broken" | "held" | "near";

/** How an edge is drawn: near what one looks at, after a failure, or on the critical path. */
export function weightOf(edge: Edge, marks: Marks, near: ReadonlySet<string>): Weight {
  if (near.has(edge.from) && near.has(edge.to)) return "near";
  if (marks.failures.has(edge.from)) return "broken";
  const at = marks.critical.indexOf(edge.from);
  if (at >= 0 && marks.critical[at + 1] === edge.to) return "critical";
  return marks.held.has(edge.from) ? "held" : "plain";
}
