import type { Run } from "../../api/schema";
import { Empty } from "../../parts/empty";
import { clock, money, tokens } from "../../parts/format";
import { rows, Section } from "../../parts/section";
import { type Shown, StateDot } from "../../parts/state";
import { Ago } from "../../parts/time";
import type { TabProps } from "./task";
import styles from "./task.module.css";

const STATES: Record<string, Shown> = {
  submitted: "completed",
  asked: "asking",
  failed: "failed",
  cancelled: "cancelled",
};

function workerOf(run: Run): string {
  return `${run.agent} on ${run.host} · ${run.coder} ${run.model ?? ""}`;
}

/** Every attempt at the task, the newest first. */
export function RunsTab({ details }: TabProps) {
  if (details.runs.length === 0) return <Empty>No agent has worked on this yet.</Empty>;
  return (
    <Section title="Runs" aside={details.runs.length}>
      {details.runs.toReversed().map((run) => (
        <div key={run.id} className={rows.group}>
          <div className={styles.run}>
            <StateDot state={run.outcome ? (STATES[run.outcome] ?? "pending") : "running"} />
            <strong>Run {run.number}</strong>
            <span>{run.outcome ?? "at work"}</span>
            <span className={`quiet clip ${rows.grow} ${styles.who}`} title={workerOf(run)}>
              {workerOf(run)}
            </span>
            <span className="num">
              {clock(
                (Date.parse(run.ended_at ?? new Date().toISOString()) -
                  Date.parse(run.started_at)) /
                  1000,
              )}
            </span>
            <span className="num">
              {tokens(run.usage.input_tokens + run.usage.output_tokens)} tokens
            </span>
            <span className="num">{money(run.usage.cost_usd)}</span>
            <Ago at={run.started_at} />
          </div>
          {(run.note || run.result?.summary) && (
            <p className={styles.text} dir="auto">
              {run.note || run.result?.summary}
            </p>
          )}
        </div>
      ))}
    </Section>
  );
}
