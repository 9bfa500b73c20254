import type { Page } from "../page";

export const swarms: Page = {
  path: "/swarms",
  title: "Swarms",
  nav: { key: "s" },
  load: () => import("./swarms"),
};

export const swarm: Page = {
  path: "/swarms/$swarm",
  title: "Swarm",
  load: () => import("./swarm"),
};
