import { Link } from "@tanstack/react-router";
import type { MouseEvent } from "react";
import { openMenu } from "../../parts/menu";
import states from "../../parts/state.module.css";
import { type Bar, type Look, storyOf } from "./lanes";
import type { Window } from "./period";
import styles from "./timeline.module.css";

const NARROWEST = 4;
const ROOM_FOR_TEXT = 44;

/** The runs of one agent: a bar for its work, a thin line for what was waited for, a flag where it landed. */
export function Runs(props: {
  bars: readonly Bar[];
  window: Window;
  width: number;
  now: number;
  at: string | undefined;
  hover: (id: string | undefined) => void;
}) {
  const { since, until } = props.window;
  const x = (at: number) => {
    const clamped = Math.min(Math.max(at, since - 60_000), until + 60_000);
    return ((clamped - since) / (until - since)) * props.width;
  };
  return props.bars.map((bar) => {
    const [left, right] = [x(bar.since), x(bar.until ?? props.now)];
    const width = Math.max(right - left, NARROWEST);
    const waited = bar.wait ? x(bar.wait.until ?? props.now) - right : 0;
    return (
      <div key={bar.run.id} className={styles.piece}>
        {bar.wait && waited > 1 && (
          <span
            className={`${styles.wait} ${look(bar.wait.look)}`}
            style={{ transform: `translateX(${right}px)`, width: waited }}
            title={bar.wait.text}
          />
        )}
        <Link
          to="/task/$ref"
          params={{ ref: bar.run.task }}
          className={`${styles.run} ${look(bar.look)} ${props.at === bar.run.id ? styles.at : ""}`}
          style={{ transform: `translateX(${left}px)`, width }}
          aria-label={`${bar.task?.title ?? bar.run.task}, ${storyOf(bar)}`}
          data-row={bar.run.id}
          onPointerEnter={() => props.hover(bar.run.id)}
          onPointerLeave={() => props.hover(undefined)}
          onFocus={() => props.hover(bar.run.id)}
          onBlur={() => props.hover(undefined)}
          onContextMenu={(event) => menu(bar, event)}
        >
          {width > ROOM_FOR_TEXT && (
            <span className={styles.title} dir="auto">
              {bar.run.number > 1 && <b title="Which try it is">{bar.run.number}</b>}
              {bar.task?.title ?? bar.run.task}
            </span>
          )}
        </Link>
        {bar.landed !== undefined && bar.landed >= since && bar.landed <= until && (
          <svg
            className={styles.flag}
            style={{ transform: `translateX(${x(bar.landed)}px)` }}
            viewBox="0 0 12 28"
            role="img"
          >
            <title>landed</title>
            <path d="M1 28V1" />
            <path className={styles.cloth} d="M1 1h10L8 5l3 4H1z" />
          </svg>
        )}
      </div>
    );
  });
}

function look(name: Look): string {
  if (name === "limit") return styles.limit ?? "";
  return (name === "spent" ? styles.spent : states[name]) ?? "";
}

function menu(bar: Bar, event: MouseEvent): void {
  if (!bar.task) return;
  event.preventDefault();
  openMenu(bar.task, event.clientX, event.clientY);
}
