import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Task } from "../../api/schema";
import { openMenu } from "../../parts/menu";
import { StateDot, shown } from "../../parts/state";
import { type Edge, edges, type Placed, placed } from "./stages";
import styles from "./workflows.module.css";

const WIDTH = 180;
const HEIGHT = 52;
const ACROSS = WIDTH + 48;
const DOWN = HEIGHT + 12;

/** The stages from left to right, each after those that it needs. */
export function Graph({ tasks, at }: { tasks: readonly Task[]; at: string | undefined }) {
  const stages = useMemo(() => placed(tasks), [tasks]);
  const lines = useMemo(() => edges(stages), [stages]);
  const width = (Math.max(...stages.map((stage) => stage.level)) + 1) * ACROSS - 48;
  const height = (Math.max(...stages.map((stage) => stage.row)) + 1) * DOWN - 12;
  return (
    <nav className={styles.graph} aria-label="Stages">
      <div
        className={styles.canvas}
        ref={(canvas) => {
          if (!canvas) return;
          canvas.style.width = `${width}px`;
          canvas.style.height = `${height}px`;
        }}
      >
        <svg width={width} height={height} aria-hidden="true">
          {lines.map((edge) => (
            <path key={`${edge.from.task.id} ${edge.to.task.id}`} d={curve(edge)} />
          ))}
        </svg>
        {stages.map((stage) => (
          <Stage key={stage.task.id} stage={stage} isAt={at === stage.task.id} />
        ))}
      </div>
    </nav>
  );
}

function curve({ from, to }: Edge): string {
  const start = `${from.level * ACROSS + WIDTH} ${from.row * DOWN + HEIGHT / 2}`;
  const middle = to.level * ACROSS - 24;
  const end = to.row * DOWN + HEIGHT / 2;
  return `M${start}H${middle}V${end}H${to.level * ACROSS}`;
}

function Stage({ stage, isAt }: { stage: Placed; isAt: boolean }) {
  const { task, name } = stage;
  return (
    <Link
      to="/task/$ref"
      params={{ ref: task.id }}
      className={`${styles.stage} ${isAt ? styles.at : ""}`}
      title={`${name}\n${task.id} · ${task.state}${task.note ? `\n${task.note}` : ""}`}
      ref={(card: HTMLAnchorElement | null) => {
        if (!card) return;
        card.style.left = `${stage.level * ACROSS}px`;
        card.style.top = `${stage.row * DOWN}px`;
      }}
      onContextMenu={(event) => {
        event.preventDefault();
        openMenu(task, event.clientX, event.clientY);
      }}
    >
      <StateDot state={shown(task)} />
      <strong className="clip">{name}</strong>
      <span className="quiet clip">{kind(task)}</span>
    </Link>
  );
}

function kind(task: Task): string {
  const stage = task.stage;
  const marks = [
    stage?.gate ? "gate" : "",
    stage?.judges?.length ? "judge" : "",
    stage?.when ? "conditional" : "",
    task.coder ?? "",
  ];
  return [task.state, ...marks].filter(Boolean).join(" · ");
}
