import { useLayoutEffect, useRef } from "react";
import { clock, exact, money } from "../../parts/format";
import { StateDot, shown } from "../../parts/state";
import { type Bar, storyOf } from "./lanes";
import styles from "./timeline.module.css";

const WIDTH = 320;

/** What there is to know about a run, next to its bar. */
export function Card({ bar, now }: { bar: Bar; now: number }) {
  const { run, task } = bar;
  const card = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const row = document.querySelector(`[data-row="${CSS.escape(run.id)}"]`);
    const [box, own] = [row?.getBoundingClientRect(), card.current];
    if (!box || !own) return;
    const room = innerWidth - Math.min(WIDTH, innerWidth - 16) - 8;
    const isLow = box.bottom + own.offsetHeight + 16 > innerHeight;
    own.style.left = `${Math.min(Math.max(box.left, 8), room)}px`;
    own.style.top = `${isLow ? box.top - own.offsetHeight - 8 : box.bottom + 8}px`;
  });
  const seconds = ((bar.until ?? now) - bar.since) / 1000;
  return (
    <div ref={card} className={styles.card} role="status">
      <strong>
        {task && <StateDot state={shown(task)} />}
        <span dir="auto">{task?.title ?? run.task}</span>
      </strong>
      <dl>
        <dt>Run</dt>
        <dd>
          <code>{run.id}</code> · {storyOf(bar)}
        </dd>
        <dt>Agent</dt>
        <dd>
          {run.agent} · {run.coder}
          {run.model ? ` · ${run.model}` : ""}
        </dd>
        <dt>Time</dt>
        <dd className="num">
          {exact(run.started_at)} · {clock(seconds)}
        </dd>
        <dt>Cost</dt>
        <dd className="num">{money(run.usage.cost_usd)}</dd>
        {bar.landed !== undefined && (
          <>
            <dt>Landed</dt>
            <dd className="num">{exact(new Date(bar.landed).toISOString())}</dd>
          </>
        )}
        {bar.wait && bar.wait.until === undefined && (
          <>
            <dt>Since then</dt>
            <dd>{bar.wait.text}</dd>
          </>
        )}
      </dl>
      {run.note && (
        <p className="quiet" dir="auto">
          {run.note}
        </p>
      )}
    </div>
  );
}
