import type { Page } from "../page";

export const inbox: Page = {
  path: "/inbox",
  title: "Inbox",
  nav: { key: "i", onPhone: true },
  load: () => import("./inbox"),
};
