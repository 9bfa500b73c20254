import type { Page } from "../page";

export const coders: Page = {
  path: "/coders",
  title: "Coders",
  nav: { key: "d" },
  load: () => import("./coders"),
};
