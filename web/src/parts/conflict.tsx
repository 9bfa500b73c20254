import { Link } from "@tanstack/react-router";
import { useConflicts, useDetails } from "../live/queries";
import styles from "./conflict.module.css";
import { TaskChip } from "./task-chip";

type Conflict = NonNullable<ReturnType<typeof useConflicts>["data"]>[number];

/** The open conflicts of a task. */
function useConflictsOf(task: string): readonly Conflict[] {
  return (useConflicts().data ?? []).filter((each) => each.tasks.includes(task));
}

/** A mark on a card: this work changes the same lines as other work. */
export function ConflictMark({ task }: { task: string }) {
  const [first, ...more] = useConflictsOf(task);
  if (!first) return null;
  const others = [first, ...more].map((each) => otherOf(each, task)).join(" and ");
  return (
    <Link
      to="/conflicts"
      search={{ open: first.id }}
      className={styles.mark ?? ""}
      title={`Changes the same lines of ${first.paths.join(", ")} as ${others}`}
    >
      conflict
    </Link>
  );
}

/** With whom a task collides, and where. */
export function ConflictNotes({ task }: { task: string }) {
  return useConflictsOf(task).map((conflict) => (
    <Note key={conflict.id} conflict={conflict} other={otherOf(conflict, task)} />
  ));
}

function Note({ conflict, other }: { conflict: Conflict; other: string }) {
  const task = useDetails(other).data?.task;
  const paths = conflict.paths.join(", ");
  return (
    <p className={styles.note} data-conflict={conflict.id}>
      <span className={styles.word}>Conflict with</span>
      {task ? <TaskChip task={task} /> : <code>{other}</code>}
      <span>in</span>
      <code className="clip" title={paths}>
        {paths}
      </code>
      <Link to="/conflicts" search={{ open: conflict.id }} className={styles.compare ?? ""}>
        Compare
      </Link>
    </p>
  );
}

function otherOf({ tasks }: Conflict, task: string): string {
  return tasks.find((each) => each !== task) ?? task;
}
