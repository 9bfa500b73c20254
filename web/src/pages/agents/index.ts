import type { Page } from "../page";

export const agents: Page = {
  path: "/agents",
  title: "Agents",
  nav: { key: "a" },
  load: () => import("./agents"),
};
