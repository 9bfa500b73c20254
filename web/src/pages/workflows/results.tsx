import type { StageResult, Task } from "../../api/schema";
import { useResults } from "../../live/queries";
import { count } from "../../parts/format";
import { rows, Section } from "../../parts/section";
import { TaskChip } from "../../parts/task-chip";
import styles from "./workflows.module.css";

/** What each stage has come to: in the words of its agent, and in the facts of git. */
export function Results(props: { flow: string; tasks: readonly Task[]; at: string | undefined }) {
  const results = useResults(props.flow).data?.results ?? [];
  return (
    <Section title="Results">
      {props.tasks.map((task) => (
        <Row
          key={task.id}
          task={task}
          result={results.find((each) => each.task === task.id)}
          isAt={props.at === task.id}
        />
      ))}
    </Section>
  );
}

function Row(props: { task: Task; result: StageResult | undefined; isAt: boolean }) {
  const { task, result } = props;
  return (
    <div className={`${rows.group} ${props.isAt ? rows.at : ""}`} data-row={task.id}>
      <div className={styles.line}>
        <div className={rows.grow}>
          <TaskChip task={task} />
        </div>
        <span className="quiet">{(result?.status ?? task.state).replaceAll("_", " ")}</span>
      </div>
      {result && <Told result={result} note={result.note || task.note} />}
    </div>
  );
}

function Told({ result, note }: { result: StageResult; note: string }) {
  const facts = [
    result.choice && `chose ${result.choice}`,
    result.commits && count(result.commits, "commit"),
    result.files.length && result.files.slice(0, 5).join(", "),
    result.checks.length &&
      `${result.checks.filter((check) => check.exit_code === 0).length}/${count(result.checks.length, "check")} passed`,
    result.landed && `landed ${result.landed.slice(0, 8)}`,
  ];
  const said = facts.filter(Boolean).join(" · ");
  return (
    <div className={styles.told}>
      {result.summary && (
        <p className={styles.words} dir="auto">
          {result.summary}
        </p>
      )}
      {note && note !== result.summary && (
        <p className={`quiet ${styles.words}`} dir="auto">
          {note}
        </p>
      )}
      {result.next_steps.length > 0 && (
        <ul>
          {result.next_steps.map((step) => (
            <li key={step} dir="auto">
              {step}
            </li>
          ))}
        </ul>
      )}
      {said && <p className="quiet">{said}</p>}
    </div>
  );
}
