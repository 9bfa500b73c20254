import type { Page } from "../page";

export const costs: Page = {
  path: "/costs",
  title: "Costs",
  nav: { key: "o" },
  load: () => import("./costs"),
};
