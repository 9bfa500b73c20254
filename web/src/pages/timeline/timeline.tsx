import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Event } from "../../api/schema";
import { useCursor } from "../../keyboard/cursor";
import { useKeys } from "../../keyboard/keys";
import { useTasks } from "../../live/queries";
import { Empty } from "../../parts/empty";
import { useGestures } from "../../parts/gestures";
import { AddButton } from "../../parts/new-task";
import { useNow } from "../../parts/time";
import { Card } from "./card";
import { type Bar, lanesOf, seen } from "./lanes";
import {
  DAY,
  HOUR,
  type Period,
  panned,
  read,
  type Search,
  ticks,
  type Window,
  windowOf,
  written,
  zoomed,
} from "./period";
import { useAgents, useMoments, useRuns } from "./queries";
import { Runs } from "./runs";
import styles from "./timeline.module.css";

const PRESETS: readonly [key: string, text: string, span: number][] = [
  ["1", "1 hour", HOUR],
  ["2", "6 hours", 6 * HOUR],
  ["3", "1 day", DAY],
  ["4", "7 days", 7 * DAY],
];
const STEP = 0.25;
const FACTOR = 1.6;

/** Who worked when, on what, and what came of it. */
export default function TimelinePage() {
  const tasks = useTasks().data;
  const agents = useAgents().data;
  const log = useMoments().data;
  const now = useNow();
  const [period, setPeriod] = usePeriod();
  const window = windowOf(period, now);
  const runs = useRuns(window).data;
  const chart = useRef<HTMLDivElement>(null);
  const width = useWidth(chart);
  const [hovered, setHovered] = useState<string>();
  const navigate = useNavigate();
  const move = (share: number) => setPeriod((was) => panned(was, share, Date.now()));
  const zoom = (by: number, place: number) =>
    setPeriod((was) => zoomed(was, by, place, Date.now()));
  useGestures(chart, {
    pan: (dx) => move(-dx / (width || 1)),
    zoom: (by, x) => zoom(by, x / (width || 1)),
  });
  const lanes = useMemo(
    () => (tasks && agents && log && runs ? lanesOf(runs, tasks, agents, log) : undefined),
    [tasks, agents, log, runs],
  );
  const bars = new Map<string, Bar>();
  for (const lane of lanes ?? []) {
    for (const bar of lane.bars) {
      if (seen(bar, window.since, window.until, now)) bars.set(bar.run.id, bar);
    }
  }
  const { at } = useCursor([...bars.keys()], (id) => {
    const ref = bars.get(id)?.run.task;
    if (ref) void navigate({ to: "/task/$ref", params: { ref } });
  });
  useKeys([
    { key: "h", does: "Earlier", run: () => move(-STEP) },
    { key: "l", does: "Later", run: () => move(STEP) },
    { key: "ArrowLeft", does: "Earlier", run: () => move(-STEP) },
    { key: "ArrowRight", does: "Later", run: () => move(STEP) },
    { key: "+", does: "Zoom in", run: () => zoom(FACTOR, 0.5) },
    { key: "-", does: "Zoom out", run: () => zoom(1 / FACTOR, 0.5) },
    { key: "0", does: "Back to now", run: () => setPeriod(({ span }) => ({ span })) },
    ...PRESETS.map(([key, text, span]) => ({
      key,
      does: `The last ${text}`,
      run: () => setPeriod({ span }),
    })),
  ]);
  const shown = bars.get(hovered ?? at ?? "");
  const hosts = new Set(lanes?.map((lane) => lane.host));
  return (
    <div className={styles.page}>
      <div className={styles.bar}>
        <span className="quiet num">{between(window)}</span>
        <div className={styles.tools}>
          {PRESETS.map(([, text, span]) => (
            <button
              key={text}
              type="button"
              aria-pressed={period.until === undefined && period.span === span}
              onClick={() => setPeriod({ span })}
            >
              {text}
            </button>
          ))}
          <button type="button" aria-label="Earlier" onClick={() => move(-STEP)}>
            ←
          </button>
          <button type="button" aria-label="Later" onClick={() => move(STEP)}>
            →
          </button>
          <button
            type="button"
            disabled={period.until === undefined}
            onClick={() => setPeriod({ span: period.span })}
          >
            Now <kbd>0</kbd>
          </button>
          <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / FACTOR, 0.5)}>
            −
          </button>
          <button type="button" aria-label="Zoom in" onClick={() => zoom(FACTOR, 0.5)}>
            +
          </button>
        </div>
      </div>
      <div className={styles.body}>
        <div className={styles.names}>
          {lanes?.map((lane) => (
            <div key={lane.id} className={styles.name} title={`${lane.name} on ${lane.host}`}>
              <span className="clip">{lane.name}</span>
              {hosts.size > 1 && <span className="clip quiet">{lane.host}</span>}
            </div>
          ))}
        </div>
        <div ref={chart} className={styles.chart}>
          <Axis window={window} width={width} now={now} />
          <Limits log={log ?? []} window={window} width={width} />
          {lanes?.map((lane) => (
            <section key={lane.id} className={styles.lane} aria-label={lane.name}>
              <Runs
                bars={lane.bars.filter((bar) => bars.has(bar.run.id))}
                window={window}
                width={width}
                now={now}
                at={at}
                hover={setHovered}
              />
            </section>
          ))}
        </div>
      </div>
      {lanes && bars.size === 0 && (
        <Nothing
          hasTasks={(tasks?.size ?? 0) > 0}
          hasAgents={lanes.length > 0}
          widen={() => setPeriod({ span: 7 * DAY })}
        />
      )}
      {shown && <Card bar={shown} now={now} />}
    </div>
  );
}

function Axis({ window, width, now }: { window: Window; width: number; now: number }) {
  const x = (at: number) => ((at - window.since) / (window.until - window.since)) * width;
  return (
    <>
      <div className={styles.axis}>
        {ticks(window, width).map((tick) => (
          <span
            key={tick.at}
            className={`${styles.tick} ${tick.isDay ? styles.day : ""}`}
            style={{ transform: `translateX(${x(tick.at)}px)` }}
          >
            {isUnderNow(x(tick.at) - x(now)) ? "" : tick.text}
          </span>
        ))}
      </div>
      {now >= window.since && now <= window.until && (
        <div className={styles.now} style={{ transform: `translateX(${x(now)}px)` }}>
          <span>now</span>
        </div>
      )}
    </>
  );
}

/** The label of now stands to the left of its line; no other is written there. */
function isUnderNow(ahead: number): boolean {
  return ahead > -84 && ahead < 0;
}

/** Where an account of a coder reached a limit. */
function Limits(props: { log: readonly Event[]; window: Window; width: number }) {
  const { since, until } = props.window;
  return props.log
    .filter((event) => event.kind === "account.rests")
    .map((event) => ({ event, at: Date.parse(event.at) }))
    .filter(({ at }) => at >= since && at <= until)
    .map(({ event, at }) => (
      <span
        key={event.seq}
        className={styles.rests}
        title={event.text}
        style={{ transform: `translateX(${((at - since) / (until - since)) * props.width}px)` }}
      >
        limit
      </span>
    ));
}

function Nothing(props: { hasTasks: boolean; hasAgents: boolean; widen: () => void }) {
  if (!props.hasAgents && !props.hasTasks) {
    return (
      <Empty command="fleet serve --agents 3">
        No agent has worked yet. Start the server with some:
      </Empty>
    );
  }
  if (!props.hasTasks) {
    return (
      <Empty command={'fleet add "Title"'} action={<AddButton isPrimary />}>
        No agent has worked yet. Give them a first task.
      </Empty>
    );
  }
  return (
    <Empty
      command="fleet log"
      action={
        <button type="button" onClick={props.widen}>
          Show the last 7 days
        </button>
      }
    >
      No agent was at work in this time.
    </Empty>
  );
}

const DATES = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

function between({ since, until }: Window): string {
  return DATES.formatRange(since, until);
}

const WRITE_MS = 250;

/** The period is in the address; it is written there when a move has come to rest. */
function usePeriod() {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const [period, setPeriod] = useState<Period>(() => read(search));
  const told = JSON.stringify(written(read(search)));
  const own = JSON.stringify(written(period));
  const last = useRef(told);
  useEffect(() => {
    if (told !== last.current) {
      last.current = told;
      setPeriod(read(JSON.parse(told)));
    }
  }, [told]);
  useEffect(() => {
    if (own === last.current) return;
    const soon = setTimeout(() => {
      if (location.pathname !== "/timeline") return; // another page is on its way
      last.current = own;
      void navigate({ to: "/timeline", search: JSON.parse(own), replace: true });
    }, WRITE_MS);
    return () => clearTimeout(soon);
  }, [own, navigate]);
  return [period, setPeriod] as const;
}

function useWidth(target: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = target.current;
    if (!element) return;
    const seen = new ResizeObserver(() => setWidth(element.clientWidth));
    seen.observe(element);
    return () => seen.disconnect();
  }, [target]);
  return width;
}
