import { useEffect } from "react";
import { External, useExternal } from "../live/external";
import { clock, exact, span } from "./format";

const now = new External(Date.now());
let watchers = 0;
let ticking: ReturnType<typeof setInterval> | undefined;

/** The time of day, once a second, from one clock for all that show it. */
export function useNow(): number {
  useEffect(() => {
    watchers += 1;
    ticking ??= setInterval(() => now.set(Date.now()), 1000);
    return () => {
      watchers -= 1;
      if (watchers === 0) {
        clearInterval(ticking);
        ticking = undefined;
      }
    };
  }, []);
  return useExternal(now);
}

/** How long ago something was, and exactly when on hover. */
export function Ago({ at }: { at: string }) {
  const seconds = (useNow() - Date.parse(at)) / 1000;
  return (
    <time className="num quiet" dateTime={at} title={exact(at)}>
      {seconds < 5 ? "now" : span(seconds)}
    </time>
  );
}

/** How long something still lasts. */
export function Until({ at }: { at: string }) {
  const seconds = (Date.parse(at) - useNow()) / 1000;
  return (
    <time className="num quiet" dateTime={at} title={exact(at)}>
      {seconds > 0 ? `${span(seconds)} left` : "expired"}
    </time>
  );
}

export function Elapsed({ since }: { since: string }) {
  return (
    <time className="num" dateTime={since} title={`since ${exact(since)}`}>
      {clock((useNow() - Date.parse(since)) / 1000)}
    </time>
  );
}
