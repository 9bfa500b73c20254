import type { Page } from "../page";

export const settings: Page = {
  path: "/settings",
  title: "Settings",
  nav: { key: "e" },
  load: () => import("./settings"),
};
