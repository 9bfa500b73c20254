import { useEffect, useState } from "react";
import { useKeys } from "./keys";

/** A cursor over a list of ids: `j` and `k` move it, `Enter` opens what it is on. */
export function useCursor(ids: readonly string[], open: (id: string) => void) {
  const [at, setAt] = useState<string>();
  const index = at === undefined ? -1 : ids.indexOf(at);
  const move = (by: number) => {
    const next = ids[Math.min(Math.max(index + by, 0), ids.length - 1)];
    if (next !== undefined) setAt(next);
  };
  useKeys([
    { key: "j", does: "Next", run: () => move(1) },
    { key: "k", does: "Previous", run: () => move(-1) },
    ...(index >= 0 && at !== undefined
      ? [{ key: "Enter", does: "Open", run: () => open(at) }]
      : []),
  ]);
  useEffect(() => {
    if (at)
      document
        .querySelector(`[data-row="${CSS.escape(at)}"]`)
        ?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return { at: index >= 0 ? at : undefined, setAt };
}
