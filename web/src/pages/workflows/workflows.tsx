import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { WorkflowStatus } from "../../api/schema";
import { useCursor } from "../../keyboard/cursor";
import { useKeys } from "../../keyboard/keys";
import { useWorkflows } from "../../live/queries";
import { useMay } from "../../live/session";
import { Bar } from "../../parts/bar";
import { Empty } from "../../parts/empty";
import { rows, Section } from "../../parts/section";
import { StateDot, shown } from "../../parts/state";
import { Ago } from "../../parts/time";
import { ended } from "./stages";
import { Start } from "./start";
import styles from "./workflows.module.css";

/** Every workflow with how far it is, and the way to start one. */
export default function WorkflowsPage() {
  const flows = useWorkflows().data;
  const mayStart = useMay("start a workflow");
  const navigate = useNavigate();
  const { start: isStarting } = useSearch({ strict: false }) as { start?: boolean };
  const ask = (start: boolean) =>
    void navigate({ to: "/workflows", search: start ? { start } : {} });
  const { at } = useCursor(flows?.map((each) => each.workflow.id) ?? [], (flow) => {
    void navigate({ to: "/workflows/$flow", params: { flow } });
  });
  useKeys(mayStart ? [{ key: "s", does: "Start a workflow", run: () => ask(true) }] : []);
  if (!flows) return null;
  const button = mayStart && (
    <button type="button" className="primary" onClick={() => ask(true)}>
      Start a workflow <kbd>s</kbd>
    </button>
  );
  return (
    <div className={styles.page}>
      {flows.length > 0 && <div className={styles.top}>{button}</div>}
      <Section title={`Workflows (${flows.length})`}>
        {flows.map((flow) => (
          <Flow key={flow.workflow.id} flow={flow} isAt={at === flow.workflow.id} />
        ))}
        {flows.length === 0 && (
          <Empty command="fleet workflow run FILE" action={button}>
            No workflow yet. A file describes stages; each becomes a task, and hands on what it
            found to the next.
          </Empty>
        )}
      </Section>
      {isStarting && mayStart && <Start close={() => ask(false)} />}
    </div>
  );
}

function Flow({ flow, isAt }: { flow: WorkflowStatus; isAt: boolean }) {
  const { workflow, tasks } = flow;
  const done = ended(flow);
  return (
    <div className={`${rows.row} ${isAt ? rows.at : ""}`} data-row={workflow.id}>
      <Link to="/workflows/$flow" params={{ flow: workflow.id }} className={styles.name ?? ""}>
        <StateDot state={flow.state} />
        <span className="clip" dir="auto" title={workflow.name}>
          {workflow.name}
        </span>
        <code className="quiet">{workflow.id}</code>
      </Link>
      <span className={styles.dots}>
        {tasks.slice(0, 12).map((task) => (
          <span key={task.id} title={`${task.stage?.name ?? task.title}: ${task.state}`}>
            <StateDot state={shown(task)} />
          </span>
        ))}
      </span>
      <span className={`num ${styles.done}`}>
        {done}/{tasks.length}
      </span>
      <Bar share={done / tasks.length} label={`${done} of ${tasks.length} stages have ended`} />
      <span className={`quiet clip ${styles.repo}`}>{workflow.repo}</span>
      <span className={styles.when}>
        <Ago at={workflow.created_at} />
      </span>
    </div>
  );
}
