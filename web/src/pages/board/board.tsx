import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import type { Task } from "../../api/schema";
import { useCursor } from "../../keyboard/cursor";
import { useKeys } from "../../keyboard/keys";
import { useBoard, useTasks } from "../../live/queries";
import { useMay } from "../../live/session";
import { Empty } from "../../parts/empty";
import { openMenuAt } from "../../parts/menu";
import { AddButton } from "../../parts/new-task";
import styles from "./board.module.css";
import { Carried } from "./carried";
import { type Carrying, useCarrying } from "./carrying";
import { Column, type Waiting } from "./column";
import { COLUMNS, sorted } from "./columns";
import { useDrag } from "./drag";
import { prioritise } from "./drop";
import { type Filter, filterIn } from "./filter";
import { Filters } from "./filters";
import { PRIORITIES } from "./places";

/** All tasks by state. A card can be carried to where the core lets it go. */
export default function BoardPage() {
  const tasks = useTasks().data;
  const search = useSearch({ strict: false }) as Filter;
  const filter = useMemo(() => filterIn({ ...search }), [search]);
  const columns = useMemo(() => sorted(tasks?.values() ?? [], filter), [tasks, filter]);
  const carrying = useCarrying(tasks);
  const at = useCards(columns, carrying);
  if (!tasks) return <Empty>Reading the tasks…</Empty>;
  return (
    <div className={styles.page}>
      <Filters tasks={tasks} filter={filter} />
      {tasks.size === 0 && (
        <Empty command={'fleet add "Title"'} action={<AddButton isPrimary />}>
          No tasks yet. The first one can be small.
        </Empty>
      )}
      <Columns columns={columns} at={at} carrying={carrying} />
    </div>
  );
}

type Sorted = ReadonlyMap<string, readonly Task[]>;

function Columns(props: { columns: Sorted; at: string | undefined; carrying: Carrying }) {
  const { carrying } = props;
  const { task, lift, hover, drop, putBack } = carrying;
  const waiting = useWaiting();
  const board = useRef<HTMLDivElement>(null);
  const pointer = useRef({ x: 0, y: 0 });
  const ghost = useRef<HTMLDivElement>(null);
  useDrag(board, {
    lift: (id) => lift(id, "pointer"),
    hover: (place, x, y) => {
      pointer.current = { x, y };
      follow(ghost.current, x, y);
      hover(place);
    },
    drop,
    putBack,
  });
  return (
    <>
      <div ref={board} className={`${styles.columns} ${handOf(carrying)}`}>
        {COLUMNS.map((about) => (
          <Column
            key={about.id}
            about={about}
            tasks={props.columns.get(about.id) ?? []}
            waiting={waiting}
            at={props.at}
            carrying={carrying}
          />
        ))}
      </div>
      {task && (
        <Carried
          carrying={carrying}
          task={task}
          ghost={(element) => {
            ghost.current = element;
            follow(element, pointer.current.x, pointer.current.y);
          }}
        />
      )}
    </>
  );
}

function handOf({ task, over }: Carrying): string {
  if (!task) return "";
  return (over ? styles.grabs : styles.carries) ?? "";
}

function follow(ghost: HTMLElement | null, x: number, y: number): void {
  if (ghost) ghost.style.transform = `translate(${x + 8}px, ${y + 8}px)`;
}

/** Why tasks wait, as far as the core has told. */
function useWaiting(): ReadonlyMap<string, Waiting> {
  const told = useBoard().data?.next_up;
  return useMemo(() => new Map(told?.map((each) => [each.task.id, each])), [told]);
}

/** The cursor over all cards, and what keys do with the one that it is on. */
function useCards(columns: Sorted, carrying: Carrying): string | undefined {
  const navigate = useNavigate();
  const mayEdit = useMay("edit");
  const ids = useMemo(() => [...columns.values()].flat().map((task) => task.id), [columns]);
  const { at, setAt } = useCursor(ids, (ref) => {
    void navigate({ to: "/task/$ref", params: { ref } });
  });
  const full = [...columns.values()].filter((each) => each.length > 0);
  const own = full.findIndex((each) => each.some((task) => task.id === at));
  const current = full[own]?.find((task) => task.id === at);
  const aside = (by: number) => {
    const row = current ? (full[own]?.indexOf(current) ?? 0) : 0;
    const next = full[Math.min(Math.max(own + by, 0), full.length - 1)];
    setAt(next?.[Math.min(row, next.length - 1)]?.id);
  };
  useKeys([
    { key: "h", does: "The column to the left", run: () => aside(-1) },
    { key: "l", does: "The column to the right", run: () => aside(1) },
    ...(current
      ? [
          { key: ".", does: "What may be done", run: () => openMenuAt(current) },
          { key: " ", does: "Pick up the card", run: () => carrying.lift(current.id, "keys") },
        ]
      : []),
    ...(current && mayEdit
      ? PRIORITIES.map((priority) => ({
          key: String(priority),
          does: `Priority ${priority}`,
          run: () => void prioritise(current, priority),
        }))
      : []),
  ]);
  return at;
}
