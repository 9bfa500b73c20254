import type { Page } from "../page";

export const repos: Page = {
  path: "/repos",
  title: "Repos",
  nav: { key: "p" },
  load: () => import("./repos"),
};

export const repo: Page = {
  path: "/repos/$repo",
  title: "Repo",
  load: () => import("./repo"),
};
