import type { Event, Need } from "../api/schema";

/** Something to notify of: the same thing has the same key in every page of the browser. */
export interface Thing {
  key: string;
  title: string;
  text: string;
  /** The address that shows it. */
  to: string;
}

const LONGEST = 200;

const WORDS: Record<string, string> = {
  question: "Question",
  permission: "Permission",
  review: "To review",
  landing: "Held in the lane",
  account: "Log in",
  settings: "Settings",
  alert: "Alert",
  failed: "Failed",
};

/** What is needed. Work that comes back from another run is another thing than before. */
export function neededThing({ kind, ref, task, text, since }: Need): Thing {
  return {
    key: `${kind} ${ref} ${task?.runs ?? since}`,
    title: `${WORDS[kind] ?? kind}: ${task?.title ?? ref}`,
    text: text.slice(0, LONGEST),
    to: task ? `/task/${task.id}${kind === "review" ? "?tab=diff" : ""}` : "/inbox",
  };
}

/** A conflict, which is told once for each of its two tasks. */
export function conflictThing({ text }: Event): Thing {
  const told = text.slice(0, LONGEST);
  return { key: `conflict ${told}`, title: "Conflict", text: told, to: "/conflicts" };
}

/** Many at once are one thing. */
export function together(things: readonly Thing[], most: number): readonly Thing[] {
  if (things.length <= most) return things;
  const text = things.map(({ title }) => title).join("\n");
  const key = things.map((thing) => thing.key).join();
  return [{ key, title: `${things.length} things need you`, text, to: "/inbox" }];
}
