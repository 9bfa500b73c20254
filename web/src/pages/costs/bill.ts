import type { Flow, Spent } from "../../api/schema";
import { money } from "../../parts/format";

/** One line of a bill: the rows of all sources of a price together. */
export interface Line {
  name: string;
  usd: number;
  tokens: number;
  /** With `~` if part of it is an estimate, and `?` if part of it has no price. */
  text: string;
}

type By = "day" | "repo" | "coder" | "model";

/** A line for each name, the dearest first; days stay in their order. */
export function lines(rows: readonly Spent[], by: By): Line[] {
  const groups = new Map<string, Spent[]>();
  for (const row of rows) groups.set(row[by], [...(groups.get(row[by]) ?? []), row]);
  const found = [...groups].map(([name, its]) => line(name || "unnamed", its));
  return by === "day" ? found : found.sort((a, b) => b.usd - a.usd || b.tokens - a.tokens);
}

/** Everything in one line. */
export function line(name: string, rows: readonly Spent[]): Line {
  const usd = rows.reduce((sum, row) => sum + row.usage.cost_usd, 0);
  const tokens = rows.reduce(
    (sum, row) => sum + row.usage.input_tokens + row.usage.output_tokens,
    0,
  );
  const sources = new Set(rows.map((row) => row.source));
  return { name, usd, tokens, text: priced(usd, sources) };
}

function priced(usd: number, sources: ReadonlySet<string>): string {
  if (sources.size === 1 && sources.has("unpriced")) return "?";
  return `${sources.has("estimated") ? "~" : ""}${money(usd)}${sources.has("unpriced") ? " + ?" : ""}`;
}

/** Every day of a period, also those on which nothing was spent. Days begin at midnight UTC. */
export function everyDay(found: readonly Line[], since: string, until: string): Line[] {
  const known = new Map(found.map((each) => [each.name, each]));
  const days: Line[] = [];
  const last = until.slice(0, 10);
  for (let at = Date.parse(since.slice(0, 10)); ; at += 86_400_000) {
    const name = new Date(at).toISOString().slice(0, 10);
    if (name > last) return days;
    days.push(known.get(name) ?? { name, usd: 0, tokens: 0, text: money(0) });
  }
}

export interface Part {
  kind: string;
  value: number;
}

export interface Column {
  label: string;
  title: string;
  parts: readonly Part[];
}

const OUTCOMES = ["completed", "failed", "cancelled"] as const;

/** What ended in each hour or on each day, one part for each outcome. */
export function ended(flow: readonly Flow[], step: number): Column[] {
  return flow.map((each) => {
    const parts = OUTCOMES.map((kind) => ({ kind, value: each[kind] }));
    const said = parts.filter((part) => part.value).map((part) => `${part.value} ${part.kind}`);
    const label = when(each.at, step);
    const added = `${each.added} added`;
    return { label, title: `${label}: ${[...said, added].join(", ")}`, parts };
  });
}

const HOUR = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const UTC_DAY = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});

/** An hour in the reader's own time, or a day as the fleet counts them. */
export function when(at: string, step: number): string {
  const moment = new Date(at);
  return step < 86_400 ? `${DAY.format(moment)} ${HOUR.format(moment)}` : UTC_DAY.format(moment);
}

/** The share of runs that delivered work, in whole percent. */
export function percent(good: number, all: number): string {
  return all === 0 ? "–" : `${Math.round((good / all) * 100)} %`;
}
