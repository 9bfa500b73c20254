import { useEffect, useState } from "react";
import type { Tokens } from "./tokens";

const LONGEST = 400_000;
/** Code that takes longer stays as it is: a pattern of the language does not get along with it. */
const PATIENCE_MS = 5000;

interface Wish {
  text: string;
  language: string;
  done: (lines: readonly Tokens[] | undefined) => void;
}

const wishes: Wish[] = [];
let worker: Worker | undefined;
let late: ReturnType<typeof setTimeout> | undefined;

/** The lines of some code in colours; undefined if it stays as it is. */
export function coloured(
  text: string,
  language: string | undefined,
): Promise<readonly Tokens[] | undefined> {
  if (!language || !text || text.length > LONGEST) return Promise.resolve(undefined);
  return new Promise((done) => {
    wishes.push({ text, language, done });
    if (wishes.length === 1) ask();
  });
}

export function useColours(
  text: string,
  language: string | undefined,
): readonly Tokens[] | undefined {
  const [lines, setLines] = useState<readonly Tokens[]>();
  useEffect(() => {
    let isWanted = true;
    setLines(undefined);
    void coloured(text, language).then((found) => isWanted && setLines(found));
    return () => {
      isWanted = false;
    };
  }, [text, language]);
  return lines;
}

/** One at a time, so that it is known which of them takes too long. */
function ask(): void {
  const [wish] = wishes;
  if (!wish) return;
  worker ??= begun();
  late = setTimeout(giveUp, PATIENCE_MS);
  worker.postMessage({ text: wish.text, language: wish.language });
}

function begun(): Worker {
  const started = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  started.onmessage = ({ data }: MessageEvent<readonly Tokens[]>) => settle(data);
  started.onerror = giveUp;
  return started;
}

function giveUp(): void {
  worker?.terminate();
  worker = undefined;
  settle(undefined);
}

function settle(lines: readonly Tokens[] | undefined): void {
  clearTimeout(late);
  wishes.shift()?.done(lines);
  ask();
}
