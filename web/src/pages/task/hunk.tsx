import { memo, useEffect, useMemo, useRef, useState } from "react";
import { coloured } from "../../code/colours";
import type { Tokens } from "../../code/tokens";
import { type Hunk, type Line, type Pair, pairs } from "./diff";
import styles from "./diff.module.css";
import { SplitRow, UnifiedRow } from "./rows";

/** So many rows become what one can comment on together, as they come near. */
const STRETCH = 25;
const NEAR = "800px 0px";
const ROW_PX = 20;

export type Colours = ReadonlyMap<Line, Tokens>;

interface Props {
  hunk: Hunk;
  path: string;
  language: string | undefined;
  isSplit: boolean;
}

/** The rows of a hunk. Those far away are only text, which can be searched and costs little. */
export function HunkRows({ hunk, path, language, isSplit }: Props) {
  const [isWanted, setWanted] = useState(false);
  const colours = useHunkColours(hunk, isWanted ? language : undefined);
  const stretches = useMemo(() => {
    const rows = isSplit ? pairs(hunk.lines) : hunk.lines.map(alone);
    return cut(rows, STRETCH);
  }, [hunk, isSplit]);
  return (
    <div>
      <div className={styles.hunk}>{hunk.head}</div>
      {stretches.map((rows, at) => (
        <Stretch
          // biome-ignore lint/suspicious/noArrayIndexKey: lines never move within a diff
          key={`${isSplit} ${at}`}
          rows={rows}
          path={path}
          isSplit={isSplit}
          colours={colours}
          near={setWanted}
        />
      ))}
    </div>
  );
}

const Stretch = memo(function Stretch(props: {
  rows: readonly Pair[];
  path: string;
  isSplit: boolean;
  colours: Colours;
  near: (isNear: true) => void;
}) {
  const { rows, near } = props;
  const place = useRef<HTMLElement>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    if (!place.current) return;
    const watcher = new IntersectionObserver(
      (seen) => {
        if (!seen.some((each) => each.isIntersecting)) return;
        setNear(true);
        near(true);
      },
      { root: place.current.closest("main"), rootMargin: NEAR },
    );
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, [near]);
  const keep = (element: HTMLElement | null) => {
    place.current = element;
    element?.style.setProperty("contain-intrinsic-height", `auto ${rows.length * ROW_PX}px`);
  };
  if (!isNear) {
    return (
      <pre ref={keep} className={styles.far}>
        {rows.map(({ left, right }) => (right ?? left)?.text).join("\n")}
      </pre>
    );
  }
  const Row = props.isSplit ? SplitRow : UnifiedRow;
  return (
    <div ref={keep} className={styles.near}>
      {rows.map((row, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines never move within a diff
        <Row key={at} row={row} path={props.path} colours={props.colours} />
      ))}
    </div>
  );
});

const NONE: Colours = new Map();

function useHunkColours(hunk: Hunk, language: string | undefined): Colours {
  const [colours, setColours] = useState(NONE);
  useEffect(() => {
    let isWanted = true;
    void coloursOf(hunk, language).then((found) => isWanted && setColours(found));
    return () => {
      isWanted = false;
    };
  }, [hunk, language]);
  return colours;
}

/** What was and what is are each read as one text, as a string may go over several lines. */
async function coloursOf(hunk: Hunk, language: string | undefined): Promise<Colours> {
  const sides = [
    hunk.lines.filter((line) => line.before !== null),
    hunk.lines.filter((line) => line.after !== null),
  ];
  const found = new Map<Line, Tokens>();
  for (const lines of sides) {
    const tokens = await coloured(lines.map((line) => line.text).join("\n"), language);
    lines.forEach((line, at) => {
      const own = tokens?.[at];
      if (own) found.set(line, own);
    });
  }
  return found;
}

function alone(line: Line): Pair {
  return line.kind === "-" ? { left: line, right: null } : { left: null, right: line };
}

function cut<T>(rows: readonly T[], most: number): T[][] {
  const parts: T[][] = [];
  for (let at = 0; at < rows.length; at += most) parts.push(rows.slice(at, at + most));
  return parts;
}
