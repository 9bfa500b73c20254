import { Link } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";
import type { Task } from "../api/schema";
import { openMenu } from "./menu";
import { type Shown, StateDot, shown } from "./state";
import styles from "./task-chip.module.css";

/** A task, the same wherever it is: click opens it, right-click lists what may be done with it. */
export function TaskChip(props: {
  task: Task;
  state?: Shown;
  marked?: ReactNode;
  target?: "_blank";
}) {
  const { task, state = shown(task) } = props;
  return (
    <Chip
      marked={props.marked}
      target={props.target}
      id={task.id}
      title={task.title}
      state={state}
      more={task.repo}
      menu={(event) => {
        event.preventDefault();
        openMenu(task, event.clientX, event.clientY);
      }}
    />
  );
}

/** The same for a task of which no more is known. */
export function Chip(props: {
  id: string;
  title: string;
  state: Shown;
  more?: string;
  /** The title with the place that was looked for. */
  marked?: ReactNode;
  menu?: (event: MouseEvent) => void;
  /** Opens in a tab of its own, where what is typed here would be lost. */
  target?: "_blank" | undefined;
}) {
  const about = [props.id, props.state, props.more].filter(Boolean).join(" · ");
  return (
    <Link
      to="/task/$ref"
      {...(props.target ? { target: props.target } : {})}
      params={{ ref: props.id }}
      className={styles.chip ?? ""}
      title={`${props.title}\n${about}`}
      onContextMenu={props.menu}
    >
      <StateDot state={props.state} />
      <span className={styles.title} dir="auto">
        {props.marked ?? props.title}
      </span>
      <code className={styles.id}>{props.id}</code>
    </Link>
  );
}
