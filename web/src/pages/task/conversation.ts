import type { Event } from "../../api/schema";

/** Who tells it: an agent in words, thoughts or at work, a check, a human, or the fleet. */
export type Voice = "agent" | "thought" | "tool" | "check" | "human" | "fleet";

const VOICES: Record<string, Voice> = {
  ...{ "run.said": "agent", "run.progress": "agent", "task.asked": "agent" },
  ...{ "run.tool": "tool", "run.changed": "tool", "run.permission": "tool" },
  ...{ "run.thought": "thought", "run.checked": "check" },
  ...{ "message.sent": "human", "task.answered": "human", "task.rejected": "human" },
  ...{ "run.started": "fleet", "run.failed": "fleet", "run.ended": "fleet", "run.warned": "fleet" },
  ...{ "run.quiet": "fleet", "run.stopping": "fleet" },
  ...{ "task.submitted": "fleet", "task.approved": "fleet", "task.bounced": "fleet" },
  ...{ "task.completed": "fleet", "task.failed": "fleet", "task.cancelled": "fleet" },
  ...{ "task.retried": "fleet" },
};

/** Something told: one event with what came of it, or the checks that followed one another. */
export interface Told {
  voice: Voice;
  /** The first event; the others are checks of the same run, or the result of a tool. */
  event: Event;
  more: readonly Event[];
}

/** What of the log reads as a conversation. */
export function conversation(events: readonly Event[]): Told[] {
  const all: (Told & { more: Event[] })[] = [];
  const calls = new Map<string, Event[]>();
  for (const event of events) {
    const call = event.data?.call ? `${event.run} ${event.data.call}` : "";
    if (event.kind === "run.result" && call) calls.get(call)?.push(event);
    const voice = VOICES[event.kind];
    const last = all.at(-1);
    if (voice === "check" && last?.voice === "check" && last.event.run === event.run) {
      last.more.push(event);
    } else if (voice) {
      const more: Event[] = [];
      all.push({ voice, event, more });
      if (event.kind === "run.tool" && call) calls.set(call, more);
    }
  }
  return all;
}

/** A part of what somebody said: words, or a block of code in a language. */
export interface Part {
  text: string;
  language?: string;
}

const FENCE =
  /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^\n`]*\n([\s\S]*?)(?:^ {0,3}\1[`~]*[ \t]*$|(?![\s\S]))/gm;

/** Words and blocks of code in the order in which they were said. */
export function parts(text: string): Part[] {
  const found: Part[] = [];
  let from = 0;
  const words = (until: number) => {
    const between = text.slice(from, until).replace(/^\n+|\s+$/g, "");
    if (between) found.push({ text: between });
  };
  for (const match of text.matchAll(FENCE)) {
    words(match.index);
    found.push({ text: (match[3] ?? "").replace(/\n$/, ""), language: match[2] ?? "" });
    from = match.index + match[0].length;
  }
  words(text.length);
  return found;
}

/** What a tool is called, and what it is used on. */
export function call(event: Event): { name: string; detail: string } {
  const text = event.text.trim();
  const gap = text.search(/\s/);
  return gap < 0
    ? { name: text, detail: "" }
    : { name: text.slice(0, gap), detail: text.slice(gap + 1) };
}
