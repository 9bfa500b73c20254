import type { Page } from "../page";

export const conflicts: Page = {
  path: "/conflicts",
  title: "Conflicts",
  nav: { key: "x" },
  load: () => import("./conflicts"),
};
