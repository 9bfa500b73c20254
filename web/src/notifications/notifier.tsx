import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { heard } from "../live/cache";
import { useExternal } from "../live/external";
import { useBoard } from "../live/queries";
import { isAnyLookedAt, showAttention } from "./attention";
import { isOn } from "./switch";
import { conflictThing, neededThing, type Thing, together } from "./things";

const NOTIFIER = "codefleet notifies";
const TOLD = "notified of";
const MOST_TOLD = 500;
const MOST_AT_ONCE = 3;
const MOST_CONFLICTS = 50;

/** Notifies of what needs somebody, if they asked for it. */
export function Notifier() {
  return useExternal(isOn) && <On />;
}

/** Of all pages of this browser, only the one that holds the lock notifies. */
function On() {
  const things = useThings();
  const [isMine, setMine] = useState(false);
  const show = useShow();
  useEffect(showAttention, []);
  useEffect(() => {
    const end = new AbortController();
    const held = new Promise<void>((done) => end.signal.addEventListener("abort", () => done()));
    const own = () => {
      setMine(true);
      return held;
    };
    navigator.locks.request(NOTIFIER, { signal: end.signal }, own).catch(() => {});
    return () => end.abort();
  }, []);
  useEffect(() => {
    if (isMine) void tell(things, show);
  }, [isMine, things, show]);
  return null;
}

/** Everything that needs somebody now, and the conflicts found since the page was opened. */
function useThings(): readonly Thing[] {
  const needs = useBoard().data?.needs;
  const [conflicts, setConflicts] = useState<readonly Thing[]>([]);
  useEffect(
    () =>
      heard((event) => {
        if (event.kind !== "conflict.found") return;
        setConflicts((known) => [...known.slice(1 - MOST_CONFLICTS), conflictThing(event)]);
      }),
    [],
  );
  return useMemo(() => [...(needs ?? []).map(neededThing), ...conflicts], [needs, conflicts]);
}

/** Show what is new, unless somebody looks at the fleet anyway. */
async function tell(things: readonly Thing[], show: (thing: Thing) => void): Promise<void> {
  const isSeen = await isAnyLookedAt();
  const told = read();
  const known = new Map(things.map((thing) => [thing.key, thing]));
  const fresh = [...known.values()].filter(({ key }) => !told.includes(key));
  if (fresh.length === 0) return;
  const after = [...told, ...fresh.map(({ key }) => key)];
  localStorage.setItem(TOLD, JSON.stringify(after.slice(-MOST_TOLD)));
  if (!isSeen) for (const thing of together(fresh, MOST_AT_ONCE)) show(thing);
}

function useShow(): (thing: Thing) => void {
  const navigate = useNavigate();
  const go = useRef(navigate);
  go.current = navigate;
  return useRef(({ key, title, text, to }: Thing) => {
    const shown = new Notification(title, { body: text, tag: key });
    shown.onclick = () => {
      window.focus();
      shown.close();
      void go.current({ href: to });
    };
  }).current;
}

function read(): readonly string[] {
  try {
    return JSON.parse(localStorage.getItem(TOLD) ?? "[]") as string[];
  } catch {
    return [];
  }
}
