import type { Task, WorkflowStatus } from "../../api/schema";

/** A stage with its place in the graph: its column, and its row in there. */
export interface Placed {
  task: Task;
  name: string;
  level: number;
  row: number;
}

export interface Edge {
  from: Placed;
  to: Placed;
}

/** Stages from left to right: each one column after the last of those that it needs. */
export function placed(tasks: readonly Task[]): Placed[] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const levels = new Map<string, number>();
  const level = (task: Task): number => {
    const known = levels.get(task.id);
    if (known !== undefined) return known;
    levels.set(task.id, 0);
    const needs = task.needs.flatMap((id) => byId.get(id) ?? []);
    const found = needs.length ? Math.max(...needs.map(level)) + 1 : 0;
    levels.set(task.id, found);
    return found;
  };
  const filled = new Map<number, number>();
  return tasks.map((task) => {
    const column = level(task);
    const row = filled.get(column) ?? 0;
    filled.set(column, row + 1);
    return { task, name: task.stage?.name ?? task.title, level: column, row };
  });
}

export function edges(stages: readonly Placed[]): Edge[] {
  const byId = new Map(stages.map((stage) => [stage.task.id, stage]));
  return stages.flatMap((to) =>
    to.task.needs.flatMap((id) => {
      const from = byId.get(id);
      return from ? [{ from, to }] : [];
    }),
  );
}

const ENDED = new Set(["completed", "failed", "cancelled"]);

export function isOver(state: string): boolean {
  return ENDED.has(state);
}

/** How many of its stages have ended. */
export function ended(flow: WorkflowStatus): number {
  return flow.tasks.filter((task) => isOver(task.state)).length;
}
