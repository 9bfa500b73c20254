const STEPS: readonly [seconds: number, unit: string][] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "m"],
];

/** How long ago, or how long: 12s, 4m, 3h, 9d. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  for (const [length, unit] of STEPS) {
    if (whole >= length) return `${Math.floor(whole / length)}${unit}`;
  }
  return `${whole}s`;
}

/** A duration that is watched: 0:07, 12:04, 1:02:09. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] ? parts : parts.slice(1);
  return shown.map((part, at) => (at ? String(part).padStart(2, "0") : String(part))).join(":");
}

export function money(usd: number): string {
  if (usd === 0) return "$0";
  if (usd < 0.01) return "<$0.01";
  return `$${usd.toFixed(usd < 100 ? 2 : 0)}`;
}

export function tokens(many: number): string {
  if (many < 1000) return String(many);
  if (many < 1_000_000) return `${(many / 1000).toFixed(many < 10_000 ? 1 : 0)}k`;
  return `${(many / 1_000_000).toFixed(1)}M`;
}

export function count(many: number, noun: string): string {
  return `${many.toLocaleString("en")} ${noun}${many === 1 ? "" : "s"}`;
}

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function exact(moment: string): string {
  return EXACT.format(new Date(moment));
}
