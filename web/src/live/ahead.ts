import type { Task } from "../api/schema";
import { keep } from "./cache";

/** Show a change before the core has agreed to it; if it refuses, show again what was. */
export async function ahead(
  task: Task,
  change: Partial<Task>,
  act: () => Promise<unknown>,
): Promise<void> {
  keep([{ ...task, ...change }]);
  try {
    await act();
  } catch (error) {
    keep([task]);
    throw error;
  }
}
