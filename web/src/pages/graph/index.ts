import type { Page } from "../page";

export const graph: Page = {
  path: "/graph",
  title: "Graph",
  nav: { key: "r" },
  load: () => import("./graph"),
};
