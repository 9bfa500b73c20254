import { useRef, useState } from "react";
import { useKeys } from "../../keyboard/keys";
import type { File } from "./diff";

/** Pixels by which a file may move without anybody having scrolled. */
const STILL_PX = 4;

/** The keys that go from file to file. Returns the path of the file one is at, and how to go to one.
 *
 * Whoever scrolls is at the file at the top of the screen; whoever uses keys, at the one they led to,
 * also if it is too near to the end to come to the top. */
export function useFileKeys(
  files: readonly File[],
  mark: (file: File) => void,
): [at: string | undefined, go: (file: File) => void] {
  const [at, setAt] = useState<string>();
  const left = useRef<number>(undefined);
  const go = (file: File) => {
    setAt(file.path);
    document.getElementById(anchor(file))?.scrollIntoView({ block: "start" });
    left.current = top(file);
  };
  const here = (): number => {
    const known = files.findIndex((file) => file.path === at);
    const file = files[known];
    if (!file) return -1;
    const hasMoved = Math.abs((top(file) ?? 0) - (left.current ?? 0)) > STILL_PX;
    return hasMoved ? topmost(files) : known;
  };
  const step = (by: number) => {
    const next = files[Math.min(Math.max(here() + by, 0), files.length - 1)];
    if (next) go(next);
  };
  const markHere = () => {
    const file = files[Math.max(here(), 0)];
    if (!file) return;
    mark(file);
    go(file);
  };
  useKeys([
    { key: "n", does: "Next file", run: () => step(1) },
    { key: "p", does: "Previous file", run: () => step(-1) },
    { key: "x", does: "Mark the file as seen", run: markHere },
  ]);
  return [at, go];
}

export function anchor(file: File): string {
  return `file-${encodeURIComponent(file.path)}`;
}

function top(file: File): number | undefined {
  return document.getElementById(anchor(file))?.getBoundingClientRect().top;
}

/** The last file that begins above the upper third of the screen. */
function topmost(files: readonly File[]): number {
  const line = innerHeight / 3;
  return Math.max(
    files.findLastIndex((file) => (top(file) ?? 0) < line),
    0,
  );
}
