import type { AtWork } from "../../api/schema";
import { Bar } from "../../parts/bar";
import { money, span } from "../../parts/format";
import { Moves } from "../../parts/moves";
import { rows } from "../../parts/section";
import { TaskChip } from "../../parts/task-chip";
import { Elapsed, useNow } from "../../parts/time";
import styles from "./agents.module.css";
import { memory, type Seat as Seated } from "./machines";

const VERBS = ["send", "pause", "cancel"];

/** One seat: its name, and what whoever sits there does. */
export function Seat({ seat, isAt }: { seat: Seated; isAt: boolean }) {
  const { agent, work } = seat;
  return (
    <div
      className={`${rows.group} ${styles.seat} ${isAt ? rows.at : ""}`}
      data-row={agent.task ?? agent.name}
      data-state={agent.state}
    >
      <div className={styles.name}>
        <strong>{agent.name}</strong>
        <div className="quiet clip" title={work?.run.model ?? undefined}>
          {[work?.run.coder ?? agent.coder, work?.run.model].filter(Boolean).join(" · ")}
        </div>
      </div>
      {work ? <Working work={work} /> : <span className="quiet">{STATES[agent.state]}</span>}
    </div>
  );
}

const STATES: Record<string, string> = {
  idle: "free",
  working: "starts",
  offline: "offline: its runner is silent",
};

function Working({ work }: { work: AtWork }) {
  const { task, run } = work;
  const elapsed = (useNow() - Date.parse(run.started_at)) / 1000;
  const line = work.stopping || work.silent || work.doing;
  return (
    <>
      <div className={styles.what}>
        <TaskChip task={task} />
        <div className={`quiet clip ${styles.doing}`} dir="auto" title={line}>
          {line || "starts"}
        </div>
      </div>
      <dl className={styles.facts}>
        <div>
          <dt>time</dt>
          <dd>
            <Elapsed since={run.started_at} />
            {work.usual_s != null && (
              <Bar share={elapsed / work.usual_s} label={`usually ${span(work.usual_s)}`} />
            )}
          </dd>
        </div>
        <div>
          <dt>context</dt>
          <dd>
            {run.context ? `${Math.round(run.context * 100)} %` : "–"}
            {run.context > 0 && <Bar share={run.context} label="of the context window" />}
          </dd>
        </div>
        <div>
          <dt>memory</dt>
          <dd>{run.memory_mb ? memory(run.memory_mb) : "–"}</dd>
        </div>
        <div>
          <dt>cost</dt>
          <dd>
            {money(work.spent.cost_usd)}
            {task.budget?.usd ? ` of ${money(task.budget.usd)}` : ""}
          </dd>
        </div>
      </dl>
      <div className={styles.buttons}>
        <Moves task={task} verbs={VERBS} />
      </div>
    </>
  );
}
