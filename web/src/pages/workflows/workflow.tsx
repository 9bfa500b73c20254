import { useNavigate, useParams } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Refusal } from "../../api/client";
import type { Removed, WorkflowStatus } from "../../api/schema";
import { useCursor } from "../../keyboard/cursor";
import { useKeys } from "../../keyboard/keys";
import { useBoard, useWorkflow } from "../../live/queries";
import { Empty } from "../../parts/empty";
import { FLOW_MOVES, performFlow } from "../../parts/flow-moves";
import { money, tokens } from "../../parts/format";
import { openMenuAt } from "../../parts/menu";
import { Needs, useNeedKeys } from "../../parts/needs";
import { rows, Section } from "../../parts/section";
import { StateDot } from "../../parts/state";
import { Ago } from "../../parts/time";
import { Graph } from "./graph";
import { Offspring } from "./offspring";
import { Results } from "./results";
import { ended } from "./stages";
import styles from "./workflows.module.css";

export default function WorkflowPage() {
  const { flow: ref = "" } = useParams({ strict: false }) as { flow?: string };
  const { data, error } = useWorkflow(ref);
  if (data) return <Flow flow={data} />;
  return error instanceof Refusal ? (
    <Empty>
      {error.message}. {error.hint}
    </Empty>
  ) : null;
}

/** One workflow: its stages as they stand, what it asks, and what came out. */
function Flow({ flow }: { flow: WorkflowStatus }) {
  const { workflow, tasks } = flow;
  const [removed, setRemoved] = useState<readonly Removed[]>();
  const navigate = useNavigate();
  const ids = tasks.map((task) => task.id);
  const needs = useBoard().data?.needs.filter((need) => need.task && ids.includes(need.task.id));
  const { at } = useCursor(ids, (ref) => {
    void navigate({ to: "/task/$ref", params: { ref } });
  });
  const current = tasks.find((task) => task.id === at);
  useKeys([
    { key: "Escape", does: "Back", run: () => void navigate({ to: "/workflows" }) },
    ...(current ? [{ key: ".", does: "What may be done", run: () => openMenuAt(current) }] : []),
  ]);
  useNeedKeys(needs ?? [], at);
  useEffect(() => {
    document.title = `${workflow.name} · codefleet`;
  }, [workflow.name]);
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <StateDot state={flow.state} />
        <h2 dir="auto">{workflow.name}</h2>
        <code className="quiet">{workflow.id}</code>
        <span className="quiet num">
          {flow.state} · {ended(flow)}/{tasks.length} stages · {workflow.repo} ·{" "}
          <Ago at={workflow.created_at} />
        </span>
        <Buttons flow={flow} report={setRemoved} />
      </header>
      {workflow.prompt && (
        <p className={styles.prompt} dir="auto">
          {workflow.prompt}
        </p>
      )}
      {flow.limit && <Spent limit={flow.limit} />}
      {needs && needs.length > 0 && <Needs needs={needs} at={at} />}
      <Graph tasks={tasks} at={at} />
      <Results flow={workflow.id} tasks={tasks} at={at} />
      <Offspring flow={flow} />
      {removed && (
        <Section title="Cleaned up">
          {removed.map((each) => (
            <div key={each.text} className={rows.row}>
              <span className={each.gone ? "" : "quiet"}>{each.text}</span>
            </div>
          ))}
          {removed.length === 0 && <Empty>There was nothing left to remove.</Empty>}
        </Section>
      )}
    </div>
  );
}

function Spent({ limit }: { limit: NonNullable<WorkflowStatus["limit"]> }) {
  const { budget, spent } = limit;
  return (
    <p className="quiet num">
      {money(spent.cost_usd)}
      {budget.usd ? ` of ${money(budget.usd)}` : ""} ·{" "}
      {tokens(spent.input_tokens + spent.output_tokens)}
      {budget.tokens ? ` of ${tokens(budget.tokens)}` : ""} tokens
    </p>
  );
}

/** What the core lets one do with it now. */
function Buttons(props: { flow: WorkflowStatus; report: (removed: readonly Removed[]) => void }) {
  const { workflow, moves } = props.flow;
  return (
    <div className={styles.buttons}>
      {moves.map((move) => (
        <button
          key={move}
          type="button"
          title={FLOW_MOVES[move].title}
          onClick={() => void performFlow(move, workflow.id, props.report)}
        >
          {FLOW_MOVES[move].text}
        </button>
      ))}
    </div>
  );
}
