import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Dependencies } from "../../api/schema";
import { useKeys } from "../../keyboard/keys";
import type { Tasks } from "../../live/cache";
import { useTasks } from "../../live/queries";
import { Empty } from "../../parts/empty";
import { count } from "../../parts/format";
import { openMenuAt } from "../../parts/menu";
import { AddButton } from "../../parts/new-task";
import { Canvas } from "./canvas";
import { type Direction, next } from "./cursor";
import styles from "./graph.module.css";
import { type Layout, layout } from "./layout";
import { marksOf } from "./marks";
import { MANY, type Picture, picture } from "./picture";
import { useDependencies } from "./queries";
import { around, fitted, revealed, useView } from "./view";

/** What one looks at, as it is in the address. */
interface Search {
  at?: string | undefined;
  all?: boolean;
  unfold?: boolean;
  open?: readonly string[];
}

const STEP = 1.4;
const READABLE = 0.75;

/** Who waits for whom: needs as a graph, from what can start to what comes last. */
export default function GraphPage() {
  const { data: tasks, isFetching } = useTasks();
  const told = useDependencies().data;
  const [isWhole, setWhole] = useState(false);
  useEffect(() => {
    if (tasks && !isFetching) setWhole(true); // a part of a graph has another shape
  }, [tasks, isFetching]);
  if (!isWhole || !tasks || !told) return <Empty>Reading the tasks…</Empty>;
  return <Graph tasks={tasks} told={told} />;
}

function Graph({ tasks, told }: { tasks: Tasks; told: Dependencies }) {
  const { all = false, unfold = false, open, at } = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const set = (changed: Search) => {
    const search = { all, unfold, open, at, ...changed };
    const kept = Object.entries(search).filter(([, value]) => value);
    void navigate({ to: "/graph", search: Object.fromEntries(kept), replace: true });
  };
  const marks = useMemo(() => marksOf(told), [told]);
  const shown = useMemo(
    () =>
      picture(tasks, {
        all,
        folds: !unfold,
        open: new Set(open),
        kept: new Set([...marks.critical, ...marks.failures]),
      }),
    [tasks, all, unfold, open, marks],
  );
  const placed = useLayout(shown);
  const frame = useRef<HTMLDivElement>(null);
  const { view, setView, zoom, size } = useView(frame);
  const [hovered, setHovered] = useState<string>();
  const running = shown.nodes.filter((node) => node.tasks[0].state === "running");
  const failed = shown.nodes.filter((node) => marks.failures.has(node.id));
  const whole = { x: 0, y: 0, width: placed.width, height: placed.height };
  const fit = () => size && setView(fitted(whole, size));
  const look = (nodes: Picture["nodes"]) => {
    const box = around(nodes.flatMap((node) => placed.at.get(node.id) ?? []));
    if (box && size) setView(fitted(box, size));
  };
  const magnify = (by: number) => size && zoom(by, size.width / 2, size.height / 2);
  const move = (direction: Direction) => {
    const id = next(at, direction, placed.at, shown.edges);
    const box = id === undefined ? undefined : placed.at.get(id);
    if (!id || !box || !size) return;
    set({ at: id });
    setView((was) => revealed({ ...was, scale: Math.max(was.scale, READABLE) }, box, size));
  };
  const unfoldOne = (id: string) => set({ open: [...(open ?? []), id], at: undefined });
  const current = shown.nodes.find((node) => node.id === at);
  const enter = () => {
    if (!current) return;
    if (current.tasks.length > 1) unfoldOne(current.id);
    else void navigate({ to: "/task/$ref", params: { ref: current.id } });
  };
  useKeys([
    { key: "j", does: "The next below", run: () => move("down") },
    { key: "k", does: "The next above", run: () => move("up") },
    { key: "h", does: "What it needs", run: () => move("left") },
    { key: "l", does: "What needs it", run: () => move("right") },
    { key: "ArrowDown", does: "The next below", run: () => move("down") },
    { key: "ArrowUp", does: "The next above", run: () => move("up") },
    { key: "ArrowLeft", does: "What it needs", run: () => move("left") },
    { key: "ArrowRight", does: "What needs it", run: () => move("right") },
    { key: "f", does: "Fit everything", run: fit },
    { key: "r", does: "Zoom to what runs", run: () => look(running) },
    { key: "+", does: "Zoom in", run: () => magnify(STEP) },
    { key: "-", does: "Zoom out", run: () => magnify(1 / STEP) },
    ...(current
      ? [
          { key: "Enter", does: "Open", run: enter },
          { key: ".", does: "What may be done", run: () => openMenuAt(current.tasks[0]) },
        ]
      : []),
  ]);
  const isReady = size !== undefined && shown.nodes.length > 0;
  const began = useRef(false);
  useEffect(() => {
    if (!isReady || began.current || !size) return;
    began.current = true;
    const box = at === undefined ? undefined : placed.at.get(at);
    const wide = { x: 0, y: 0, width: placed.width, height: placed.height };
    const start = fitted(wide, size, READABLE);
    setView(
      box ? revealed({ ...start, scale: Math.max(start.scale, READABLE) }, box, size) : start,
    );
  }, [isReady, size, at, placed, setView]);
  return (
    <div className={styles.page}>
      <div className={styles.bar} hidden={shown.nodes.length === 0 && !all}>
        <Summary shown={shown} marks={marks} />
        {failed.length > 0 && (
          <button type="button" className={styles.failure} onClick={() => look(failed)}>
            {failed.length} failed or cancelled {failed.length === 1 ? "holds" : "hold"} up{" "}
            {marks.held.size}
          </button>
        )}
        <div className={styles.tools}>
          {shown.tasks > MANY && (
            <button type="button" onClick={() => set({ unfold: !unfold, open: [] })}>
              {unfold ? "Fold" : "Unfold all"}
            </button>
          )}
          <button type="button" aria-pressed={all} onClick={() => set({ all: !all })}>
            Finished
          </button>
          <button type="button" disabled={running.length === 0} onClick={() => look(running)}>
            Running <kbd>r</kbd>
          </button>
          <button type="button" onClick={fit}>
            Fit <kbd>f</kbd>
          </button>
          <button type="button" aria-label="Zoom out" onClick={() => magnify(1 / STEP)}>
            −
          </button>
          <button type="button" aria-label="Zoom in" onClick={() => magnify(STEP)}>
            +
          </button>
        </div>
      </div>
      {shown.nodes.length === 0 && (
        <Nothing tasks={tasks} all={all} show={() => set({ all: true })} />
      )}
      <div ref={frame} className={styles.frame} hidden={shown.nodes.length === 0}>
        {size && (
          <Canvas
            picture={shown}
            layout={placed}
            marks={marks}
            view={view}
            size={size}
            at={at}
            hovered={hovered}
            hover={setHovered}
            unfold={unfoldOne}
            choose={(id) => {
              set({ at: id });
              look(shown.nodes.filter((node) => node.id === id));
            }}
          />
        )}
      </div>
    </div>
  );
}

function Summary({ shown, marks }: { shown: Picture; marks: ReturnType<typeof marksOf> }) {
  return (
    <span className={`${styles.summary} quiet num`}>
      {count(shown.tasks, "task")}
      {marks.critical.length > 1 && (
        <span title="The longest chain of tasks that wait for one another; its lines are heavier">
          {" "}
          · critical path of {marks.critical.length}
        </span>
      )}
      {shown.alone > 0 && (
        <>
          {" · "}
          <Link to="/board" title="They are on the board">
            {shown.alone} more without needs
          </Link>
        </>
      )}
    </span>
  );
}

function Nothing(props: { tasks: Tasks; all: boolean; show: () => void }) {
  if (props.tasks.size === 0) {
    return (
      <Empty command={'fleet add "Title"'} action={<AddButton isPrimary />}>
        No tasks yet. Tasks that need one another become a graph here.
      </Empty>
    );
  }
  const [example] = props.tasks.keys();
  return (
    <Empty
      command={`fleet add "Title" --needs ${example}`}
      action={
        !props.all && (
          <button type="button" onClick={props.show}>
            Show finished tasks
          </button>
        )
      }
    >
      No unfinished task needs another. A task that should wait for one names it:
    </Empty>
  );
}

/** Placed anew only when the shape has changed, not when a state has. */
function useLayout({ nodes, edges }: Picture): Layout {
  const last = useRef<{ shape: string; made: Layout }>(undefined);
  return useMemo(() => {
    const shape = [
      ...nodes.map((node) => `${node.id} ${node.cluster} ${node.layer}`),
      ...edges.map((edge) => `${edge.from}>${edge.to}`),
    ].join("\n");
    if (last.current?.shape !== shape) last.current = { shape, made: layout(nodes, edges) };
    return last.current.made;
  }, [nodes, edges]);
}
