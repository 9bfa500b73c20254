import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ComponentType, useEffect } from "react";
import { Refusal } from "../../api/client";
import type { Move, TaskDetails } from "../../api/schema";
import { useKeys } from "../../keyboard/keys";
import { WORDLESS } from "../../live/acts";
import { useDetails, useMoves } from "../../live/queries";
import { perform } from "../../parts/asking";
import { ConflictNotes } from "../../parts/conflict";
import { Empty } from "../../parts/empty";
import { label, openMenuAt } from "../../parts/menu";
import { Needs } from "../../parts/needs";
import { StateDot, shown } from "../../parts/state";
import { CostTab } from "./cost-tab";
import { DiffTab } from "./diff-tab";
import { EventsTab } from "./events-tab";
import { EvidenceTab } from "./evidence-tab";
import { Fields } from "./fields";
import { LiveTab } from "./live-tab";
import { NotesTab } from "./notes-tab";
import { RunsTab } from "./runs-tab";
import styles from "./task.module.css";
import { Title } from "./title";

export interface TabProps {
  details: TaskDetails;
  moves: readonly Move[];
}

/** The tabs of a task: what each is called in the address, and its component. */
const TABS: readonly { id: string; title: string; show: ComponentType<TabProps> }[] = [
  { id: "live", title: "Live", show: LiveTab },
  { id: "diff", title: "Diff", show: DiffTab },
  { id: "evidence", title: "Evidence", show: EvidenceTab },
  { id: "runs", title: "Runs", show: RunsTab },
  { id: "notes", title: "Plan and Q&A", show: NotesTab },
  { id: "events", title: "Events", show: EventsTab },
  { id: "cost", title: "Cost", show: CostTab },
];

export default function TaskPage() {
  const { ref = "" } = useParams({ strict: false });
  const { data, error } = useDetails(ref);
  const moves = useMoves(ref).data ?? [];
  if (data) return <Task key={data.task.id} details={data} moves={moves} />;
  return error instanceof Refusal ? (
    <Empty>
      {error.message}. {error.hint}
    </Empty>
  ) : null;
}

function Task({ details, moves }: TabProps) {
  const { task } = details;
  const { tab } = useSearch({ strict: false }) as { tab?: string };
  const current = TABS.find((each) => each.id === tab) ?? TABS[0];
  useTaskKeys(details, moves);
  useEffect(() => {
    document.title = `${task.title} · codefleet`;
  }, [task.title]);
  const Shown = current?.show ?? LiveTab;
  const needs = details.inbox
    .filter((item) => item.kind === "question" || item.kind === "permission")
    .map((item) => ({ ...item, ref: item.id, task, moves: moves.map(({ verb }) => verb) }));
  return (
    <div className={styles.page} data-row={task.id}>
      <header className={styles.head}>
        <StateDot state={shown(task)} />
        <Title task={task} mayEdit={moves.some(({ verb }) => verb === "edit")} />
        <code className="quiet">{task.id}</code>
        <div className={styles.moves}>
          {moves.map(({ verb }) => {
            if (!WORDLESS.includes(verb) && verb !== "reject") return null;
            if (current?.show === DiffTab && (verb === "land" || verb === "reject")) return null;
            return (
              <button
                key={verb}
                type="button"
                className={verb === "land" ? "primary" : ""}
                onClick={() => perform(verb, task)}
              >
                {label(verb)}
              </button>
            );
          })}
        </div>
      </header>
      {(task.note || details.hold) && (
        <p className={styles.note} dir="auto">
          {details.hold?.text ?? task.note}
        </p>
      )}
      <ConflictNotes task={task.id} />
      {needs.length > 0 && <Needs needs={needs} at={undefined} />}
      <div className={current?.show === DiffTab ? styles.wide : styles.split}>
        <div className={styles.inside}>
          <nav className={styles.tabs} aria-label="About this task">
            {TABS.map((each) => (
              <Link
                key={each.id}
                to="/task/$ref"
                params={{ ref: task.id }}
                search={{ tab: each.id }}
                replace
                className={each === current ? (styles.current ?? "") : ""}
                aria-current={each === current ? "page" : undefined}
              >
                {each.title}
              </Link>
            ))}
          </nav>
          <Shown details={details} moves={moves} />
        </div>
        <Fields details={details} mayEdit={moves.some(({ verb }) => verb === "edit")} />
      </div>
    </div>
  );
}

function useTaskKeys({ task }: TaskDetails, moves: readonly Move[]): void {
  const navigate = useNavigate();
  const keys = { a: "answer", l: "land", r: "reject" };
  const open = (tab: string) =>
    void navigate({ to: "/task/$ref", params: { ref: task.id }, search: { tab }, replace: true });
  useKeys([
    { key: "Escape", does: "Back", run: () => history.back() },
    { key: ".", does: "What may be done", run: () => openMenuAt(task) },
    { key: "d", does: "Diff", run: () => open("diff") },
    ...Object.entries(keys)
      .filter(([, verb]) => moves.some((move) => move.verb === verb))
      .map(([key, verb]) => ({ key, does: label(verb), run: () => perform(verb, task) })),
  ]);
}
