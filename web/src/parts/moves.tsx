import type { Task } from "../api/schema";
import { useMoves } from "../live/queries";
import { perform } from "./asking";
import { label } from "./menu";

/** Of these verbs those that the core allows with a task now, as buttons. */
export function Moves({ task, verbs }: { task: Task; verbs: readonly string[] }) {
  const moves = useMoves(task.id).data ?? [];
  return verbs
    .filter((verb) => moves.some((move) => move.verb === verb))
    .map((verb) => (
      <button key={verb} type="button" onClick={() => perform(verb, task)}>
        {label(verb)}
      </button>
    ));
}
