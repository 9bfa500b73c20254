import type { Move, Task } from "../../api/schema";
import { label } from "../../parts/menu";
import { type Shown, shown } from "../../parts/state";
import { COLUMNS, columnFor } from "./columns";

/** Where a card may be dropped: a column, or a priority within its own. */
export interface Place {
  id: string;
  column: string;
  title: string;
  move: Move;
  priority?: number;
}

export const PRIORITIES = [5, 4, 3, 2, 1] as const;

/** Moves that lead to a column which is not that of the state that the core names. */
const ELSEWHERE: Record<string, string> = { pause: "paused", land: "lane" };

/** The places that the core's legal moves lead to, from left to right and from top to bottom. */
export function placesFor(task: Task, moves: readonly Move[]): readonly Place[] {
  const own = columnFor(shown(task));
  return COLUMNS.flatMap(({ id, title }): Place[] => {
    if (id === own) return bands(task, own, moves);
    const move = moves.find((each) => destination(each, task) === id);
    return move ? [{ id, column: id, title: `${title}: ${label(move.verb)}`, move }] : [];
  });
}

function bands(task: Task, column: string, moves: readonly Move[]): Place[] {
  const move = moves.find(({ verb }) => verb === "edit");
  if (!move) return [];
  return PRIORITIES.filter((each) => each !== task.priority).map((priority) => ({
    id: bandId(priority),
    column,
    title: `Priority ${priority}`,
    move,
    priority,
  }));
}

export function bandId(priority: number): string {
  return `priority ${priority}`;
}

/** The column that a move brings a task to; nothing if it stays as it is. */
function destination({ verb, to }: Move, task: Task): string | undefined {
  const stays = to === task.state && verb !== "resume";
  return ELSEWHERE[verb] ?? (stays ? undefined : columnFor(to as Shown));
}

/** What the task will be like if the core agrees, as far as that is certain. */
export function outlook({ move, priority }: Place): Partial<Task> | undefined {
  if (priority) return { priority };
  if (move.verb === "pause" || move.verb === "resume") return { paused: move.verb === "pause" };
  if (move.verb === "retry" || move.verb === "cancel") return { state: move.to };
  return undefined;
}
