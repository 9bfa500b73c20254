import type { Page } from "../page";

export const workflows: Page = {
  path: "/workflows",
  title: "Workflows",
  nav: { key: "w" },
  load: () => import("./workflows"),
};

export const workflow: Page = {
  path: "/workflows/$flow",
  title: "Workflow",
  load: () => import("./workflow"),
};
