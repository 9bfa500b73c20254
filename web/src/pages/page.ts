import type { ComponentType } from "react";

/** A page of the dashboard, as its folder declares it. */
export interface Page {
  /** Its address, such as `/board` or `/task/$ref`. */
  path: string;
  title: string;
  /** Its place in the navigation: `g` and then this key open it. Without one, it is only linked. */
  nav?: { key: string; onPhone?: boolean };
  /** Loaded when it is first opened. */
  load: () => Promise<{ default: ComponentType }>;
}
