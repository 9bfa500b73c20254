import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Task } from "../../api/schema";
import { useCursor } from "../../keyboard/cursor";
import { useKeys } from "../../keyboard/keys";
import { useBoard, useConflicts, useDiff, useTasks } from "../../live/queries";
import { Empty } from "../../parts/empty";
import { count } from "../../parts/format";
import { openMenuAt } from "../../parts/menu";
import { Moves } from "../../parts/moves";
import { TaskChip } from "../../parts/task-chip";
import { Ago } from "../../parts/time";
import { type File, parse } from "../task/diff";
import { shared } from "./collision";
import styles from "./conflicts.module.css";
import { SharedFile } from "./shared-file";
import { SharedFiles } from "./shared-files";

type Conflict = NonNullable<ReturnType<typeof useConflicts>["data"]>[number];

const VERBS = ["send", "pause", "resume", "reject", "cancel"];

/** Work that changes the same lines: both sides next to each other. */
export default function ConflictsPage() {
  const conflicts = useConflicts().data;
  const tasks = useTasks().data;
  const { open } = useSearch({ strict: false }) as { open?: string };
  const navigate = useNavigate();
  const toggle = (id: string) =>
    void navigate({ to: "/conflicts", search: { open: id === shown ? "none" : id } });
  const ids = useMemo(() => (conflicts ?? []).map((each) => each.id), [conflicts]);
  const shown = open ?? ids[0];
  const { at } = useCursor(ids, toggle);
  const current = conflicts?.find((each) => each.id === (at ?? shown));
  useSideKeys(current?.tasks.flatMap((id) => tasks?.get(id) ?? []) ?? []);
  if (!conflicts || !tasks) return null;
  if (conflicts.length === 0) {
    return (
      <div className={styles.page}>
        <Empty command="fleet status">
          Nothing collides. As soon as two unfinished tasks change the same lines, both sides are
          here, before either has to be merged.
        </Empty>
        <SharedFiles />
      </div>
    );
  }
  return (
    <div className={styles.page}>
      <p className="quiet">
        {count(conflicts.length, "pair")} of tasks that change the same lines.
      </p>
      {conflicts.map((conflict) => (
        <Collision
          key={conflict.id}
          conflict={conflict}
          sides={conflict.tasks.map((id) => tasks.get(id))}
          isAt={at === conflict.id}
          isOpen={shown === conflict.id}
          toggle={() => toggle(conflict.id)}
        />
      ))}
      <SharedFiles />
    </div>
  );
}

function useSideKeys(sides: readonly Task[]): void {
  useKeys(
    sides.map((task, index) => ({
      key: String(index + 1),
      does: `What may be done with ${index ? "the right" : "the left"} task`,
      run: () => openMenuAt(task),
    })),
  );
}

function Collision(props: {
  conflict: Conflict;
  sides: readonly (Task | undefined)[];
  isAt: boolean;
  isOpen: boolean;
  toggle: () => void;
}) {
  const { conflict, sides } = props;
  return (
    <section
      className={`${styles.conflict} ${props.isAt ? styles.at : ""}`}
      data-row={conflict.id}
      aria-label={`Conflict in ${conflict.paths.join(", ")}`}
    >
      <header className={styles.head}>
        <button
          type="button"
          className="bare"
          aria-expanded={props.isOpen}
          onClick={props.toggle}
          title={props.isOpen ? "Fold" : "Show the hunks"}
        >
          <span aria-hidden="true">{props.isOpen ? "▾" : "▸"}</span>{" "}
          <code>{conflict.paths.slice(0, 3).join(", ")}</code>
          {conflict.paths.length > 3 && ` and ${conflict.paths.length - 3} more`}
        </button>
        <span className="quiet">since</span>
        <Ago at={conflict.found_at} />
      </header>
      <div className={styles.sides}>
        {sides.map((task, index) => (
          <Side key={conflict.tasks[index]} id={conflict.tasks[index] ?? ""} task={task} />
        ))}
      </div>
      {props.isOpen && <Hunks conflict={conflict} />}
    </section>
  );
}

function Side({ id, task }: { id: string; task: Task | undefined }) {
  const work = useBoard().data?.working.find((each) => each.task.id === id);
  if (!task) return <code className={styles.side}>{id}</code>;
  return (
    <div className={styles.side} data-row={task.id}>
      <TaskChip task={task} />
      <p className={`quiet clip ${styles.doing}`} title={work?.doing} dir="auto">
        {work ? `${work.agent.name} · ${work.run.coder} · ${work.doing || "starts"}` : task.state}
      </p>
      <div className={styles.buttons}>
        <Moves task={task} verbs={VERBS} />
      </div>
    </div>
  );
}

function Hunks({ conflict }: { conflict: Conflict }) {
  const left = useChanges(conflict.tasks[0] ?? "");
  const right = useChanges(conflict.tasks[1] ?? "");
  const files = useMemo(
    () => left && right && shared(left, right, conflict.paths),
    [left, right, conflict.paths],
  );
  return files?.map((file) => <SharedFile key={file.path} file={file} />);
}

function useChanges(ref: string): readonly File[] | undefined {
  const { data, error } = useDiff(ref);
  return useMemo(
    () => (data === undefined && !error ? undefined : parse(data ?? "")),
    [data, error],
  );
}
