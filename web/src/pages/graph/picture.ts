import type { Task } from "../../api/schema";
import type { Tasks } from "../../live/cache";

/** Above so many tasks, those of a phase that need no attention are folded into one node. */
export const MANY = 200;
const FEWEST = 5;

/** A task, or several of the same phase folded into one. */
export interface Node {
  id: string;
  tasks: readonly [Task, ...Task[]];
  /** What is laid out together: a workflow, or tasks that have to do with one another. */
  cluster: string;
  layer: number;
}

export interface Edge {
  from: string;
  to: string;
}

export interface Picture {
  nodes: readonly Node[];
  edges: readonly Edge[];
  /** How many tasks there are in it, and how many have to do with no other. */
  tasks: number;
  alone: number;
}

export interface Choice {
  /** Show finished tasks too, even if nothing waits for them. */
  all: boolean;
  /** Fold phases, if there are many tasks. */
  folds: boolean;
  /** The folds that were opened. */
  open: ReadonlySet<string>;
  /** Tasks that are never folded. */
  kept: ReadonlySet<string>;
}

const FINISHED = new Set<Task["state"]>(["completed", "failed", "cancelled"]);
const CALM = new Set<Task["state"]>(["pending", "completed", "cancelled"]);

/** Does it need nobody's attention now? */
export function isCalm(task: Task): boolean {
  return CALM.has(task.state);
}

export function isFold(node: Node): boolean {
  return node.tasks.length > 1;
}

/** What the graph shows: tasks with needs, and those that are needed. */
export function picture(tasks: Tasks, choice: Choice): Picture {
  const linked = linkedOf(tasks);
  const chosen = choice.all ? linked : openOnes(linked, tasks);
  const unfinished = [...tasks.values()].filter((task) => !FINISHED.has(task.state));
  const alone = unfinished.filter((task) => !linked.has(task.id)).length;
  const clusters = clustersOf(chosen);
  const layers = layersOf(chosen);
  const isFolded = choice.folds && chosen.size > MANY;
  const groups = new Map<string, Pick<Node, "cluster" | "layer"> & { tasks: Task[] }>();
  for (const task of chosen.values()) {
    const layer = layers.get(task.id) ?? 0;
    const own = clusters.get(task.id) ?? task.id;
    const cluster = isFolded && !own.startsWith(FLOW) ? REST : own;
    const fold = `${cluster}.${layer}`;
    const stays = !isFolded || !isCalm(task) || choice.kept.has(task.id) || choice.open.has(fold);
    const id = stays ? task.id : fold;
    const group = groups.get(id) ?? { cluster, layer, tasks: [] };
    group.tasks.push(task);
    groups.set(id, group);
  }
  const nodes: Node[] = [];
  const nodeOf = new Map<string, string>();
  for (const [id, { tasks: inside, ...place }] of groups) {
    const [first, ...others] = inside;
    if (first && others.length + 1 >= FEWEST) {
      nodes.push({ id, tasks: [first, ...others], ...place });
      for (const task of inside) nodeOf.set(task.id, id);
    } else {
      for (const task of inside) nodes.push({ id: task.id, tasks: [task], ...place });
      for (const task of inside) nodeOf.set(task.id, task.id);
    }
  }
  return { nodes, edges: edgesOf(chosen, nodeOf), tasks: chosen.size, alone };
}

/** Everything on the way from what this needs to what needs it, directly or not. */
export function related(id: string, edges: readonly Edge[]): Set<string> {
  const found = new Set([id]);
  for (const [here, there] of [["from", "to"] as const, ["to", "from"] as const]) {
    const next = new Map<string, string[]>();
    for (const edge of edges) next.set(edge[here], [...(next.get(edge[here]) ?? []), edge[there]]);
    const seen = new Set([id]);
    for (const at of seen) for (const each of next.get(at) ?? []) seen.add(each);
    for (const each of seen) found.add(each);
  }
  return found;
}

const FLOW = "flow:";
const REST = "rest";

/** The workflow that a cluster is, if it is one. */
export function flowOf(cluster: string): string | undefined {
  return cluster.startsWith(FLOW) ? cluster.slice(FLOW.length) : undefined;
}

function linkedOf(tasks: Tasks): Tasks {
  const linked = new Map<string, Task>();
  for (const task of tasks.values()) {
    const needs = task.needs.flatMap((need) => tasks.get(need) ?? []);
    if (needs.length > 0 || task.stage) linked.set(task.id, task);
    for (const need of needs) linked.set(need.id, need);
  }
  return linked;
}

/** Unfinished tasks, what they need directly, and all stages of workflows that go on. */
function openOnes(linked: Tasks, tasks: Tasks): Tasks {
  const chosen = new Map<string, Task>();
  const flows = new Set<string>();
  for (const task of linked.values()) {
    if (FINISHED.has(task.state)) continue;
    chosen.set(task.id, task);
    if (task.stage) flows.add(task.stage.workflow);
    for (const need of task.needs) {
      const found = tasks.get(need);
      if (found) chosen.set(need, found);
    }
  }
  for (const task of linked.values()) {
    if (task.stage && flows.has(task.stage.workflow)) chosen.set(task.id, task);
  }
  return chosen;
}

/** Which tasks have to do with one another. What consists of one workflow alone is named by it. */
function clustersOf(tasks: Tasks): Map<string, string> {
  const parent = new Map<string, string>();
  const root = (id: string): string => {
    let at = id;
    for (let up = parent.get(at); up !== undefined; up = parent.get(at)) at = up;
    if (at !== id) parent.set(id, at);
    return at;
  };
  const join = (one: string, other: string) => {
    const [a, b] = [root(one), root(other)];
    if (a !== b) parent.set(b, a);
  };
  for (const task of tasks.values()) {
    for (const need of task.needs) if (tasks.has(need)) join(need, task.id);
    if (task.stage) join(FLOW + task.stage.workflow, task.id);
  }
  const flows = new Map<string, Set<string>>();
  for (const task of tasks.values()) {
    const own = flows.get(root(task.id)) ?? new Set();
    flows.set(root(task.id), own.add(task.stage?.workflow ?? ""));
  }
  const named = new Map<string, string>();
  for (const id of tasks.keys()) {
    const [flow, ...others] = flows.get(root(id)) ?? [];
    named.set(id, flow && others.length === 0 ? FLOW + flow : root(id).replace(FLOW, ""));
  }
  return named;
}

/** How many columns to the right each task stands: after all that it needs. */
function layersOf(tasks: Tasks): Map<string, number> {
  const layers = new Map<string, number>();
  const waits = new Map<string, number>();
  const after = new Map<string, string[]>();
  for (const task of tasks.values()) {
    const needs = task.needs.filter((need) => tasks.has(need));
    waits.set(task.id, needs.length);
    for (const need of needs) after.set(need, [...(after.get(need) ?? []), task.id]);
  }
  const ready = [...tasks.keys()].filter((id) => waits.get(id) === 0);
  for (const id of ready) {
    const layer = layers.get(id) ?? 0;
    layers.set(id, layer);
    for (const next of after.get(id) ?? []) {
      layers.set(next, Math.max(layers.get(next) ?? 0, layer + 1));
      const left = (waits.get(next) ?? 0) - 1;
      waits.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
  return layers;
}

function edgesOf(tasks: Tasks, nodeOf: ReadonlyMap<string, string>): Edge[] {
  const edges = new Map<string, Edge>();
  for (const task of tasks.values()) {
    const to = nodeOf.get(task.id);
    for (const need of task.needs) {
      const from = nodeOf.get(need);
      if (from && to && from !== to) edges.set(`${from} ${to}`, { from, to });
    }
  }
  return [...edges.values()];
}
