import type { Page } from "../page";

export const board: Page = {
  path: "/board",
  title: "Board",
  nav: { key: "b" },
  load: () => import("./board"),
};
