import type { ReactNode } from "react";
import type { Task } from "../api/schema";
import styles from "./state.module.css";

/** The states as people see them: those of the core, and what it calls approved or paused work. */
export type Shown = Task["state"] | "blocked" | "landing" | "held" | "paused";

/** The same words as the command line has for it. */
export function shown(task: Task): Shown {
  if (task.state === "review" && task.approved) return task.note ? "held" : "landing";
  if (task.state === "pending" && task.paused) return "paused";
  return task.state;
}

const CIRCLE = <circle cx="6" cy="6" r="4.25" />;
const SHAPES: Record<Shown, ReactNode> = {
  pending: CIRCLE,
  blocked: (
    <>
      {CIRCLE}
      <path d="M3.5 6h5" />
    </>
  ),
  paused: (
    <>
      {CIRCLE}
      <path d="M4.8 4.2v3.6M7.2 4.2v3.6" />
    </>
  ),
  running: <circle cx="6" cy="6" r="4.5" className={styles.full} />,
  asking: <path d="M6 1.2 11 10.4H1z" className={styles.full} />,
  review: <path d="M6 .8 11.2 6 6 11.2.8 6z" className={styles.full} />,
  landing: <path d="M6 1.5v8M2.8 6.4 6 9.8l3.2-3.4" />,
  held: <path d="M6 1.2v4.6M3.4 3.6 6 6.2l2.6-2.6M1.5 9.8h9" />,
  completed: <path d="m1.8 6.4 3 3 5.6-6.6" />,
  failed: <path d="m2.2 2.2 7.6 7.6M9.8 2.2 2.2 9.8" />,
  cancelled: <path d="M2 6h8" />,
};

export function StateDot({ state }: { state: Shown }) {
  return (
    <svg className={`${styles.dot} ${styles[state]}`} viewBox="0 0 12 12" role="img">
      <title>{state}</title>
      {SHAPES[state]}
    </svg>
  );
}
