import type { Page } from "../page";

export const teams: Page = {
  path: "/teams",
  title: "Teams",
  nav: { key: "m" },
  load: () => import("./teams"),
};

export const team: Page = {
  path: "/teams/$team",
  title: "Team",
  load: () => import("./team"),
};
