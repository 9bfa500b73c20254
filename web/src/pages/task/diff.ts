/** A diff as git writes it, taken apart for showing and commenting. */
export interface Line {
  kind: " " | "+" | "-";
  text: string;
  /** Its number before the change, unless it was added. */
  before: number | null;
  /** Its number after the change, unless it was removed. */
  after: number | null;
}

export interface Hunk {
  head: string;
  lines: Line[];
}

export interface File {
  path: string;
  /** What else there is to say: new, deleted, renamed from, binary. */
  note: string;
  hunks: Hunk[];
  added: number;
  removed: number;
  /** The contents before and after, as git names them. */
  contents: string;
}

/** Two lines next to each other: what was, and what is. */
export interface Pair {
  left: Line | null;
  right: Line | null;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

export function parse(text: string): File[] {
  const files: File[] = [];
  let file: File | undefined;
  let hunk: Hunk | undefined;
  let before = 0;
  let after = 0;
  for (const row of text.split("\n")) {
    if (row.startsWith("diff --git ")) {
      file = { path: named(row), note: "", hunks: [], added: 0, removed: 0, contents: "" };
      hunk = undefined;
      files.push(file);
      continue;
    }
    if (!file) continue;
    const head = HUNK.exec(row);
    if (head) {
      hunk = { head: row, lines: [] };
      file.hunks.push(hunk);
      before = Number(head[1]);
      after = Number(head[2]);
    } else if (!hunk) describe(file, row);
    else if (row.startsWith("+")) {
      hunk.lines.push({ kind: "+", text: row.slice(1), before: null, after: after++ });
      file.added += 1;
    } else if (row.startsWith("-")) {
      hunk.lines.push({ kind: "-", text: row.slice(1), before: before++, after: null });
      file.removed += 1;
    } else if (row.startsWith(" ")) {
      hunk.lines.push({ kind: " ", text: row.slice(1), before: before++, after: after++ });
    }
  }
  return files;
}

/** The number of a line by which a comment names it. */
export function place(line: Line): { line: number; removed: boolean } {
  return line.after === null
    ? { line: line.before ?? 0, removed: true }
    : { line: line.after, removed: false };
}

/** The lines of a hunk side by side: what was removed is next to what replaced it. */
export function pairs(lines: readonly Line[]): Pair[] {
  const found: Pair[] = [];
  let gap = 0; // the first line of a change that has nothing next to it yet
  for (const line of lines) {
    if (line.kind === " ") {
      found.push({ left: line, right: line });
      gap = found.length;
    } else if (line.kind === "-") found.push({ left: line, right: null });
    else {
      const open = found[gap];
      if (open) open.right = line;
      else found.push({ left: null, right: line });
      gap += 1;
    }
  }
  return found;
}

/** One word for all that a file's diff says: another word, and it has changed since one saw it. */
export function fingerprint(file: File): string {
  if (file.hunks.length === 0) return `${file.note} ${file.contents}`;
  let hash = 5381;
  for (const { lines } of file.hunks) {
    for (const { kind, text } of lines) {
      for (const letter of kind + text) hash = (hash * 33) ^ (letter.codePointAt(0) ?? 0);
    }
  }
  return (hash >>> 0).toString(36);
}

function named(row: string): string {
  return unquoted(row.replace(/^.* "?b\//, "").replace(/"$/, ""));
}

function describe(file: File, row: string): void {
  if (row.startsWith("+++ ") && row !== "+++ /dev/null") {
    file.path = unquoted(
      row
        .slice(4)
        .replace(/^"?b\//, "")
        .replace(/"?\t?$/, ""),
    );
  } else if (row.startsWith("index ")) file.contents = row.slice(6);
  else if (row.startsWith("new file")) file.note = "new";
  else if (row.startsWith("deleted file")) file.note = "deleted";
  else if (row.startsWith("rename from ")) file.note = `renamed from ${row.slice(12)}`;
  else if (row.startsWith("Binary files") || row.startsWith("GIT binary patch")) {
    file.note = file.note ? `${file.note}, binary` : "binary";
  }
}

function unquoted(path: string): string {
  return path.replace(/\\(["\\])/g, "$1");
}
