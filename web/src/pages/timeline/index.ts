import type { Page } from "../page";

export const timeline: Page = {
  path: "/timeline",
  title: "Timeline",
  nav: { key: "t" },
  load: () => import("./timeline"),
};
