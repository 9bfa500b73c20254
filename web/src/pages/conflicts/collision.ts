import type { File, Hunk } from "../task/diff";

/** Two hunks of the same place next to each other; where only one task changed, one is missing. */
export interface Pair {
  left: Hunk[];
  right: Hunk[];
}

export interface Shared {
  path: string;
  left: File | undefined;
  right: File | undefined;
  pairs: Pair[];
}

/** What both tasks did to these files: where they collide first, then what only one changed. */
export function shared(
  left: readonly File[],
  right: readonly File[],
  paths: readonly string[],
): Shared[] {
  return paths.map((path) => {
    const both = [left, right].map((files) => files.find((file) => file.path === path));
    const pairs = paired(both[0]?.hunks ?? [], both[1]?.hunks ?? []);
    return { path, left: both[0], right: both[1], pairs };
  });
}

export function collides(pair: Pair): boolean {
  return pair.left.length > 0 && pair.right.length > 0;
}

/** Hunks that touch the same lines of what both began with, together; those of one side alone. */
function paired(left: readonly Hunk[], right: readonly Hunk[]): Pair[] {
  const all = [
    ...left.map((hunk) => ({ hunk, side: "left" as const, ...reach(hunk) })),
    ...right.map((hunk) => ({ hunk, side: "right" as const, ...reach(hunk) })),
  ].sort((a, b) => a.from - b.from);
  const pairs: Pair[] = [];
  let end = -1;
  for (const { hunk, side, from, to } of all) {
    if (from > end || pairs.length === 0) pairs.push({ left: [], right: [] });
    pairs.at(-1)?.[side].push(hunk);
    end = Math.max(end, to);
  }
  return [...pairs.filter(collides), ...pairs.filter((pair) => !collides(pair))];
}

/** The lines of the original that a hunk is about, from its head; a new file begins at 0. */
function reach(hunk: Hunk): { from: number; to: number } {
  const head = /^@@ -(\d+)(?:,(\d+))?/.exec(hunk.head);
  const from = Number(head?.[1] ?? 0);
  return { from, to: from + Math.max(0, Number(head?.[2] ?? 1) - 1) };
}
