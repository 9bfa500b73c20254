import type { Page } from "../page";

export const search: Page = {
  path: "/search",
  title: "Search",
  nav: { key: "f" },
  load: () => import("./search"),
};
