import type { Page } from "../page";

export const task: Page = {
  path: "/task/$ref",
  title: "Task",
  load: () => import("./task"),
};
