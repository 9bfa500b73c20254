import type { Check } from "../../api/schema";
import { Empty } from "../../parts/empty";
import { span } from "../../parts/format";
import { rows, Section } from "../../parts/section";
import { StateDot } from "../../parts/state";
import type { TabProps } from "./task";
import styles from "./task.module.css";

/** What the fleet itself saw of the last run that delivered something: git facts and checks. */
export function EvidenceTab({ details }: TabProps) {
  const evidence = details.runs.findLast((run) => run.evidence)?.evidence;
  if (!evidence) return <Empty>The fleet looks at the work when a run ends.</Empty>;
  return (
    <div className={styles.stack}>
      <Section title="Checks">
        {evidence.checks.map((check) => (
          <Checked key={check.command} check={check} />
        ))}
        {evidence.checks.length === 0 && (
          <Empty command='checks = ["make test"]'>
            No checks are set for this repo. In .fleet.toml:
          </Empty>
        )}
      </Section>
      <Section
        title="Changes"
        aside={evidence.commits === 1 ? "1 commit" : `${evidence.commits} commits`}
      >
        {evidence.changes.map((change) => (
          <div key={change.path} className={rows.row}>
            <code className={`clip ${rows.grow}`} title={change.path}>
              {change.path}
            </code>
            <span className="quiet">{change.kind}</span>
            <span className={`num ${styles.added}`}>+{change.added}</span>
            <span className={`num ${styles.removed}`}>−{change.removed}</span>
          </div>
        ))}
        {evidence.changes.length === 0 && <Empty>The run changed no file.</Empty>}
      </Section>
      {evidence.outside_scope.length > 0 && (
        <p className={styles.note}>Outside of its scope: {evidence.outside_scope.join(", ")}</p>
      )}
    </div>
  );
}

function Checked({ check }: { check: Check }) {
  const isGood = check.exit_code === 0;
  return (
    <details className={rows.group} open={!isGood}>
      <summary className={styles.check}>
        <StateDot state={isGood ? "completed" : "failed"} />
        <code className="clip" title={check.command}>
          {check.command}
        </code>
        <span className="quiet num">{span(check.seconds)}</span>
      </summary>
      <pre className={styles.output}>{check.tail || "It printed nothing."}</pre>
    </details>
  );
}
