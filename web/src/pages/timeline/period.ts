/** What one looks at, in milliseconds: so long, up to a moment; without one, up to now. */
export interface Period {
  span: number;
  until?: number | undefined;
}

/** The same as it is in the address: `?span=6h&until=2030-01-31T12:00:00Z`. */
export interface Search {
  span?: string | undefined;
  until?: string | undefined;
}

export interface Window {
  since: number;
  until: number;
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const SHORTEST = 30 * SECOND;
const LONGEST = 90 * DAY;
/** How much of the width is ahead of now. */
const AHEAD = 0.05;
export const USUAL: Period = { span: 6 * HOUR };

const UNITS: readonly [string, number][] = [
  ["d", DAY],
  ["h", HOUR],
  ["m", MINUTE],
  ["s", SECOND],
];

export function written(period: Period): Search {
  const [unit, length] = UNITS.find(([, each]) => period.span % each === 0) ?? ["s", SECOND];
  const span = `${Math.round(period.span / length)}${unit}`;
  if (period.until === undefined) return period.span === USUAL.span ? {} : { span };
  return { span, until: new Date(Math.round(period.until / SECOND) * SECOND).toISOString() };
}

export function read(search: Search): Period {
  const found = /^(\d+)([dhms])$/.exec(search.span ?? "");
  const length = UNITS.find(([unit]) => unit === found?.[2])?.[1] ?? 0;
  const span = found ? within(Number(found[1]) * length) : USUAL.span;
  const until = Date.parse(search.until ?? "");
  return Number.isNaN(until) ? { span } : { span, until };
}

export function windowOf(period: Period, now: number): Window {
  const until = period.until ?? now + period.span * AHEAD;
  return { since: until - period.span, until };
}

/** Earlier or later by a share of what is seen; who reaches now stays there. */
export function panned(period: Period, share: number, now: number): Period {
  const { until } = windowOf(period, now);
  return settled(period.span, until + share * period.span, now);
}

/** Longer or shorter, around a place between 0 and 1 that stays where it is. */
export function zoomed(period: Period, factor: number, place: number, now: number): Period {
  const { since } = windowOf(period, now);
  const span = within(rounded(period.span / factor));
  if (period.until === undefined && place >= 0.5) return { span };
  const still = since + place * period.span;
  return settled(span, still + (1 - place) * span, now);
}

function settled(span: number, until: number, now: number): Period {
  return until >= now + span * AHEAD ? { span } : { span, until };
}

function rounded(span: number): number {
  const unit = span > DAY ? HOUR : span > HOUR ? MINUTE : SECOND;
  return Math.round(span / unit) * unit;
}

function within(span: number): number {
  return Math.min(Math.max(span, SHORTEST), LONGEST);
}

/** What is read for a window: whole pages of time, so that small moves read nothing. */
export function pageOf({ since, until }: Window): Window {
  const page = 2 ** Math.ceil(Math.log2(until - since));
  return { since: Math.floor(since / page) * page, until: Math.ceil(until / page) * page };
}

const STEPS = [
  ...[SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE],
  ...[30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY],
];
const APART_PX = 88;

export interface Tick {
  at: number;
  text: string;
  isDay: boolean;
}

/** Round times of the day where the visitor is, as many as there is room for. */
export function ticks({ since, until }: Window, width: number): Tick[] {
  const most = Math.max(width / APART_PX, 1);
  const step = STEPS.find((each) => (until - since) / each <= most) ?? 28 * DAY;
  const offset = new Date(since).getTimezoneOffset() * MINUTE;
  const found: Tick[] = [];
  for (let at = Math.ceil((since - offset) / step) * step + offset; at < until; at += step) {
    const day = new Date(at);
    const isDay = day.getHours() === 0 && day.getMinutes() === 0 && day.getSeconds() === 0;
    found.push({ at, isDay, text: isDay || step >= DAY ? dayText(day) : clockText(day, step) });
  }
  return found;
}

function dayText(day: Date): string {
  return day.toLocaleDateString("en", { weekday: "short", day: "numeric", month: "short" });
}

function clockText(day: Date, step: number): string {
  const two = (part: number) => String(part).padStart(2, "0");
  const clock = `${two(day.getHours())}:${two(day.getMinutes())}`;
  return step < MINUTE ? `${clock}:${two(day.getSeconds())}` : clock;
}
