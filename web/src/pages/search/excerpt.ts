/** A piece of a text; what was looked for is marked. */
export interface Piece {
  text: string;
  isMarked: boolean;
  at: number;
}

const AROUND = 60;
const LONGEST = 240;

/** The words of a query, the longest first, so that they win over shorter ones. */
export function words(query: string): string[] {
  const found = query.match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(found)].sort((one, other) => other.length - one.length);
}

/** A text in pieces: where a word begins with what was looked for, it is marked. */
export function pieces(text: string, query: string): Piece[] {
  const wanted = pattern(query);
  if (!wanted) return [{ text, isMarked: false, at: 0 }];
  const found: Piece[] = [];
  let last = 0;
  for (const match of text.matchAll(wanted)) {
    if (match.index > last) {
      found.push({ text: text.slice(last, match.index), isMarked: false, at: last });
    }
    found.push({ text: match[0], isMarked: true, at: match.index });
    last = match.index + match[0].length;
  }
  if (last < text.length) found.push({ text: text.slice(last), isMarked: false, at: last });
  return found;
}

/** One line of a long text, around the first place that was looked for. */
export function excerpt(text: string, query: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  if (line.length <= LONGEST) return line;
  const wanted = pattern(query);
  const first = wanted ? Math.max(0, line.search(wanted)) : 0;
  const start = first <= AROUND ? 0 : line.lastIndexOf(" ", first - AROUND / 2) + 1;
  const end = start + LONGEST;
  return `${start > 0 ? "… " : ""}${line.slice(start, end)}${end < line.length ? " …" : ""}`;
}

/** Is any of what was looked for in this text? */
export function isIn(text: string, query: string): boolean {
  const wanted = pattern(query);
  return wanted !== null && text.search(wanted) >= 0;
}

function pattern(query: string): RegExp | null {
  const all = words(query);
  if (all.length === 0) return null;
  const inside = all.map((word) => (/[a-z0-9]/i.test(word) ? `(?<![a-z0-9])${word}` : word));
  return new RegExp(`(?:${inside.join("|")})`, "giu");
}
