import type { Task } from "../../api/schema";
import { type Act, acts } from "../../live/acts";
import { ahead } from "../../live/ahead";
import { movesOf } from "../../live/queries";
import { perform } from "../../parts/asking";
import { attempt } from "../../parts/toasts";
import { outlook, type Place, placesFor } from "./places";

/** Do what dropping a task at a place means, if the core says that it may go there. */
export async function dropAt(task: Task, place: string): Promise<void> {
  await attempt(async () => {
    const found = placesFor(task, await movesOf(task.id)).find(({ id }) => id === place);
    if (found) await drop(task, found);
  });
}

/** Give a task another priority. The core decides whether it may have one. */
export async function prioritise(task: Task, priority: number): Promise<void> {
  if (priority === task.priority) return;
  await attempt(() => ahead(task, { priority }, () => acts.edit(task.id, { priority })));
}

async function drop(task: Task, place: Place): Promise<void> {
  const after = outlook(place);
  const { verb } = place.move;
  if (place.priority) await prioritise(task, place.priority);
  else if (after) await ahead(task, after, () => acts[verb as Act](task.id));
  else perform(verb, task);
}
