import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useRef } from "react";
import type { Board, Task } from "../../api/schema";
import { ConflictMark } from "../../parts/conflict";
import { type Shown, shown } from "../../parts/state";
import { TaskChip } from "../../parts/task-chip";
import styles from "./board.module.css";
import type { Carrying } from "./carrying";
import type { Column as About } from "./columns";
import { bandId, PRIORITIES } from "./places";

const CARD = 84;

export type Waiting = Board["next_up"][number];

/** One column: a window on its cards, and while a card is carried, a place for it or none. */
export function Column(props: {
  about: About;
  tasks: readonly Task[];
  waiting: ReadonlyMap<string, Waiting>;
  at: string | undefined;
  carrying: Carrying;
}) {
  const { about, tasks, carrying } = props;
  const isStrip = tasks.length === 0 && !about.isKept;
  const bands = carrying.places.filter((each) => each.column === about.id && each.priority);
  return (
    <section
      className={`${styles.column} ${isStrip ? styles.strip : ""}`}
      aria-label={about.title}
      data-place={about.id}
      data-takes={takes(about.id, carrying)}
    >
      <h3 className={styles.head}>
        {about.title} <span className="num quiet">{tasks.length.toLocaleString("en")}</span>
      </h3>
      {!isStrip && <Cards {...props} />}
      {bands.length > 0 && <Bands {...carrying} />}
    </section>
  );
}

type Takes = "it" | "it, here" | "nothing" | undefined;

/** Whether a column takes the card that is carried; the one that it is over takes it here. */
function takes(column: string, { task, places, over }: Carrying): Takes {
  if (!task) return undefined;
  if (over?.id === column) return "it, here";
  const here = places.filter((each) => each.column === column);
  if (here.length === 0) return "nothing";
  return here.some((each) => each.priority) ? undefined : "it";
}

/** The priorities over the column of a carried card: no need to look for a place in a long list. */
function Bands({ places, over }: Carrying) {
  const takesIt = (priority: number): Takes => {
    if (over?.priority === priority) return "it, here";
    return places.some((each) => each.priority === priority) ? "it" : "nothing";
  };
  return (
    <div className={styles.bands}>
      {PRIORITIES.map((priority) => (
        <div key={priority} data-place={bandId(priority)} data-takes={takesIt(priority)}>
          Priority {priority}
          {takesIt(priority) === "nothing" && " · now"}
        </div>
      ))}
    </div>
  );
}

function Cards(props: {
  about: About;
  tasks: readonly Task[];
  waiting: ReadonlyMap<string, Waiting>;
  at: string | undefined;
  carrying: Carrying;
}) {
  const { tasks, carrying } = props;
  const list = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => list.current,
    estimateSize: () => CARD,
    overscan: 5,
    // always the same one for the same tasks: for another, every card would be measured again
    getItemKey: useCallback((index: number) => tasks[index]?.id ?? index, [tasks]),
  });
  const at = props.at ? tasks.findIndex((task) => task.id === props.at) : -1;
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at);
  }, [at, virtual]);
  return (
    <div ref={list} className={styles.list}>
      <div ref={(sized) => resize(sized, virtual.getTotalSize())} className={styles.sized}>
        {virtual.getVirtualItems().map((item) => {
          const task = tasks[item.index];
          if (!task) return null;
          const marks = [
            props.at === task.id ? styles.at : "",
            carrying.task?.id === task.id ? styles.carried : "",
          ];
          return (
            <article
              key={item.key}
              ref={(card) => place(card, item.start)}
              className={[styles.card, ...marks].join(" ")}
              data-row={task.id}
              aria-current={props.at === task.id}
            >
              <Card task={task} waiting={props.waiting.get(task.id)} />
            </article>
          );
        })}
      </div>
    </div>
  );
}

/** What a card says: it is drawn again only when that has changed. */
export const Card = memo(function Card(props: { task: Task; waiting: Waiting | undefined }) {
  const { task, waiting } = props;
  const isBlocked = waiting?.why === "needs" || waiting?.why === "held_up";
  const state: Shown = isBlocked ? "blocked" : shown(task);
  const about = waiting?.text || task.note || task.labels.join(" · ");
  return (
    <>
      <TaskChip task={task} state={state} />
      <div className={`${styles.about} quiet`}>
        <span className="num" title="Priority">
          P{task.priority}
        </span>
        <span className="clip">{task.repo}</span>
        <ConflictMark task={task.id} />
        <span className="clip" title={about} dir="auto">
          {about}
        </span>
      </div>
    </>
  );
});

function resize(element: HTMLElement | null, height: number): void {
  if (element) element.style.height = `${height}px`;
}

function place(element: HTMLElement | null, top: number): void {
  if (element) element.style.transform = `translateY(${top}px)`;
}
