import type { Page } from "../page";

export const now: Page = {
  path: "/",
  title: "Now",
  nav: { key: "n", onPhone: true },
  load: () => import("./now"),
};
