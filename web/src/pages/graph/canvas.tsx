import { memo, useMemo, useRef } from "react";
import type { Task } from "../../api/schema";
import { count } from "../../parts/format";
import { type Shown, StateDot } from "../../parts/state";
import states from "../../parts/state.module.css";
import { TaskChip } from "../../parts/task-chip";
import styles from "./graph.module.css";
import type { Box, Layout } from "./layout";
import { type Marks, stateOf, type Weight, weightOf } from "./marks";
import { flowOf, isCalm, isFold, type Node, type Picture, related } from "./picture";
import { useWorkflows } from "./queries";
import { isIn, regionOf, type Size, type View } from "./view";

/** Below this, titles cannot be read, and nodes are drawn as blocks in the colour of their state. */
const LEGIBLE = 0.4;

interface Props {
  picture: Picture;
  layout: Layout;
  marks: Marks;
  view: View;
  size: Size;
  at: string | undefined;
  hovered: string | undefined;
  hover: (id: string | undefined) => void;
  unfold: (id: string) => void;
  choose: (id: string) => void;
}

/** The picture. Moving it moves one sheet; what is on the sheet is drawn again only if it changes. */
export function Canvas(props: Props) {
  const { picture, layout, marks, view, size, at, hovered } = props;
  const { x, y, width, height } = regionOf(view, size);
  const placed = useMemo(() => {
    const region = { x, y, width, height };
    return picture.nodes.flatMap((node) => {
      const box = layout.at.get(node.id);
      return box && isIn(box, region) ? [{ node, box }] : [];
    });
  }, [picture, layout, x, y, width, height]);
  const act = useLatest(props);
  return (
    <div
      className={styles.sheet}
      style={{ transform: `translate(${view.x}px, ${view.y}px) scale(${view.scale})` }}
    >
      <Frames layout={layout} />
      <Lines picture={picture} layout={layout} marks={marks} at={at} hovered={hovered} />
      {view.scale >= LEGIBLE ? (
        <Nodes placed={placed} marks={marks} at={at} act={act} />
      ) : (
        <Blocks placed={placed} marks={marks} act={act} />
      )}
    </div>
  );
}

type Acts = Pick<Props, "hover" | "unfold" | "choose">;
type Placed = readonly { node: Node; box: Box }[];

/** The same functions all the time, which do what those of the last drawing do. */
function useLatest(props: Acts): Acts {
  const latest = useRef(props);
  latest.current = props;
  return useMemo(
    () => ({
      hover: (id) => latest.current.hover(id),
      unfold: (id) => latest.current.unfold(id),
      choose: (id) => latest.current.choose(id),
    }),
    [],
  );
}

const Nodes = memo(function Nodes(props: {
  placed: Placed;
  marks: Marks;
  at: string | undefined;
  act: Acts;
}) {
  const { marks, at, act } = props;
  const critical = useMemo(() => new Set(marks.critical), [marks]);
  return props.placed.map(({ node, box }) => (
    <article
      key={node.id}
      className={classesOf(node, marks, critical, at)}
      style={{ transform: `translate(${box.x}px, ${box.y}px)` }}
      data-row={node.id}
      aria-current={node.id === at}
      onPointerEnter={() => act.hover(node.id)}
      onPointerLeave={() => act.hover(undefined)}
    >
      {isFold(node) ? (
        <Fold node={node} marks={marks} unfold={act.unfold} />
      ) : (
        <Single
          task={node.tasks[0]}
          state={stateOf(node.tasks[0], marks)}
          holds={marks.holds.get(node.id) ?? 0}
        />
      )}
    </article>
  ));
});

function classesOf(
  node: Node,
  marks: Marks,
  critical: ReadonlySet<string>,
  at: string | undefined,
): string {
  const names = [styles.node];
  if (isFold(node)) names.push(styles.fold);
  if (critical.size > 1 && critical.has(node.id)) names.push(styles.critical);
  if (marks.held.has(node.id)) names.push(styles.held);
  if (marks.failures.has(node.id)) names.push(styles.failed);
  if (node.id === at) names.push(styles.at);
  return names.join(" ");
}

const Single = memo(function Single(props: { task: Task; state: Shown; holds: number }) {
  const { task, state, holds } = props;
  const place = task.stage ? `stage ${task.stage.name}` : task.repo;
  return (
    <>
      <TaskChip task={task} state={state} />
      <span className={styles.about}>
        <span className="clip">{place}</span>
        {holds > 0 && (
          <span className={styles.holds} title={`${count(holds, "task")} cannot start before`}>
            holds up {holds}
          </span>
        )}
      </span>
    </>
  );
});

function Fold(props: { node: Node; marks: Marks; unfold: (id: string) => void }) {
  const { node, marks } = props;
  const counts = new Map<Shown, number>();
  for (const task of node.tasks) {
    const state = stateOf(task, marks);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return (
    <button type="button" className={styles.unfold} onClick={() => props.unfold(node.id)}>
      <span>
        Phase {node.layer + 1} <span className="quiet">· {count(node.tasks.length, "task")}</span>
      </span>
      <span className={styles.counts}>
        {[...counts].map(([state, many]) => (
          <span key={state}>
            <StateDot state={state} /> {many}
          </span>
        ))}
      </span>
    </button>
  );
}

const Frames = memo(function Frames({ layout }: { layout: Layout }) {
  const names = new Map(useWorkflows().data?.map(({ workflow }) => [workflow.id, workflow.name]));
  return layout.clusters.map((cluster) => {
    const flow = flowOf(cluster.id);
    const { x, y, width, height } = cluster;
    return (
      flow && (
        <section
          key={cluster.id}
          className={styles.flow}
          aria-label={names.get(flow) ?? flow}
          style={{ transform: `translate(${x}px, ${y}px)`, width, height }}
        >
          <span className="clip">{names.get(flow) ?? ""}</span> <code>{flow}</code>
        </section>
      )
    );
  });
});

const ORDER: readonly Weight[] = ["plain", "held", "broken", "critical", "near"];

/** All edges of a weight are one path: a thousand of them cost as little as one. */
const Lines = memo(function Lines(
  props: Pick<Props, "picture" | "layout" | "marks" | "at" | "hovered">,
) {
  const { picture, layout, marks, at, hovered } = props;
  const centre = hovered ?? at;
  const near = useMemo(
    () => (centre === undefined ? new Set<string>() : related(centre, picture.edges)),
    [centre, picture.edges],
  );
  const drawn = useMemo(() => {
    const lines = new Map(ORDER.map((weight) => [weight, { line: "", head: "" }]));
    for (const route of layout.routes) {
      const own = lines.get(weightOf(route, marks, near));
      if (!own) continue;
      own.line += route.line;
      own.head += route.head;
    }
    return [...lines];
  }, [layout, marks, near]);
  return (
    <svg className={styles.lines} width={layout.width} height={layout.height} aria-hidden="true">
      {drawn.map(([weight, { line, head }]) => (
        <g key={weight} className={styles[weight]}>
          <path className={styles.line} d={line} />
          <path className={styles.head} d={head} />
        </g>
      ))}
    </svg>
  );
});

const Blocks = memo(function Blocks(props: { placed: Placed; marks: Marks; act: Acts }) {
  return props.placed.map(({ node, box }) => (
    <button
      key={node.id}
      type="button"
      className={[
        styles.block,
        isCalm(node.tasks[0]) ? styles.calm : "",
        states[stateOf(node.tasks[0], props.marks)],
      ].join(" ")}
      style={{ transform: `translate(${box.x}px, ${box.y}px)` }}
      title={isFold(node) ? count(node.tasks.length, "task") : node.tasks[0].title}
      onClick={() => props.act.choose(node.id)}
    />
  ));
});
