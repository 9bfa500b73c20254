import type { Edge, Node } from "./picture";

export const WIDTH = 216;
export const HEIGHT = 52;
const GAP = 12;
const CHANNEL = 40;
const TRACK = 7;
const MOST_TRACKS = 14;
const LANE = 10;
const BETWEEN = 40;
const FRAME = 16;
const HEAD = 28;
const ROUND = 5;
const SWEEPS = 6;

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Cluster extends Box {
  id: string;
}

export interface Route extends Edge {
  /** An orthogonal line, as commands of an SVG path, and the head of its arrow. */
  line: string;
  head: string;
}

export interface Layout extends Pick<Box, "width" | "height"> {
  at: ReadonlyMap<string, Box>;
  routes: readonly Route[];
  clusters: readonly Cluster[];
}

/** A place in a column: a node, or where lines from one source pass by to a later column. */
interface Spot {
  id: string;
  layer: number;
  height: number;
  y: number;
  isNode: boolean;
  before: Spot[];
  after: Spot[];
}

/** Place the nodes in columns from left to right, cluster by cluster, and route the edges. */
export function layout(nodes: readonly Node[], edges: readonly Edge[]): Layout {
  const members = new Map<string, Node[]>();
  const clusterOf = new Map<string, string>();
  for (const node of nodes) {
    members.set(node.cluster, [...(members.get(node.cluster) ?? []), node]);
    clusterOf.set(node.id, node.cluster);
  }
  const inside = new Map<string, Edge[]>();
  for (const edge of edges) {
    const cluster = clusterOf.get(edge.from) ?? "";
    inside.set(cluster, [...(inside.get(cluster) ?? []), edge]);
  }
  const parts = [...members]
    .map(([id, own]) => ({ id, ...columns(own, inside.get(id) ?? []) }))
    .sort((one, other) => other.at.size - one.at.size || (one.id < other.id ? -1 : 1));
  return packed(parts);
}

type Point = readonly [x: number, y: number];

/** A cluster by itself, with its edges as corners. */
interface Part extends Pick<Layout, "at" | "width" | "height"> {
  id: string;
  traces: readonly (readonly Point[])[];
  edges: readonly Edge[];
}

/** Put the clusters on shelves, so that all together are about as wide as a screen. */
function packed(parts: readonly Part[]): Layout {
  const area = parts.reduce(
    (sum, each) => sum + (each.width + BETWEEN) * (each.height + BETWEEN),
    0,
  );
  const shelf = Math.max(Math.sqrt(area * 1.8), ...parts.map((each) => each.width));
  const at = new Map<string, Box>();
  const routes: Route[] = [];
  const clusters: Cluster[] = [];
  let [x, y, tallest, width] = [0, 0, 0, 0];
  for (const part of parts) {
    if (x > 0 && x + part.width > shelf) {
      y += tallest + BETWEEN;
      [x, tallest] = [0, 0];
    }
    for (const [id, box] of part.at) at.set(id, { ...box, x: box.x + x, y: box.y + y });
    for (const [index, edge] of part.edges.entries()) {
      const points = (part.traces[index] ?? []).map(([a, b]): Point => [a + x, b + y]);
      routes.push({ ...edge, line: path(points), head: arrow(points.at(-1) ?? [x, y]) });
    }
    clusters.push({ id: part.id, x, y, width: part.width, height: part.height });
    width = Math.max(width, x + part.width);
    x += part.width + BETWEEN;
    tallest = Math.max(tallest, part.height);
  }
  return { at, routes, clusters, width, height: y + tallest };
}

function columns(nodes: readonly Node[], edges: readonly Edge[]): Omit<Part, "id"> {
  const first = Math.min(...nodes.map((node) => node.layer));
  const spots = new Map<string, Spot>();
  const layers: Spot[][] = [];
  const spot = (id: string, layer: number, height: number): Spot => {
    const known = spots.get(id);
    if (known) return known;
    const isNode = height === HEIGHT;
    const made: Spot = { id, layer, height, isNode, y: 0, before: [], after: [] };
    spots.set(id, made);
    layers[layer] ??= [];
    layers[layer].push(made);
    return made;
  };
  for (const node of nodes) spot(node.id, node.layer - first, HEIGHT);
  const ways = edges.map((edge) => way(edge, spots, spot));
  for (let layer = 0; layer < layers.length; layer += 1) layers[layer] ??= [];
  order(layers);
  align(layers);
  const [lefts, tracks] = channels(layers);
  const at = new Map<string, Box>();
  for (const each of spots.values()) {
    if (!each.isNode) continue;
    const x = (lefts[each.layer] ?? 0) + FRAME;
    at.set(each.id, { x, y: each.y + HEAD, width: WIDTH, height: HEIGHT });
  }
  const traces = ways.map((passed) => trace(passed, lefts, tracks));
  const bottom = Math.max(...[...spots.values()].map((each) => each.y + each.height));
  const width = (lefts[layers.length - 1] ?? 0) + WIDTH + 2 * FRAME;
  return { at, edges, traces, width, height: bottom + HEAD + FRAME };
}

/** The spots that an edge passes; edges from one node share those on their common way. */
function way(
  edge: Edge,
  spots: ReadonlyMap<string, Spot>,
  spot: (id: string, layer: number, height: number) => Spot,
): Spot[] {
  const [from, to] = [spots.get(edge.from), spots.get(edge.to)];
  if (!from || !to) return [];
  const passed = [from];
  for (let layer = from.layer + 1; layer < to.layer; layer += 1) {
    passed.push(spot(`${edge.from}>${layer}`, layer, LANE));
  }
  passed.push(to);
  for (let index = 1; index < passed.length; index += 1) {
    const [one, next] = [passed[index - 1], passed[index]];
    if (!one || !next || one.after.includes(next)) continue;
    one.after.push(next);
    next.before.push(one);
  }
  return passed;
}

/** Sweep back and forth: everything near the middle of what it is connected with. */
function order(layers: readonly Spot[][]): void {
  const places = new Map<Spot, number>();
  const number = (layer: Spot[]) => {
    for (const [index, each] of layer.entries()) places.set(each, index);
  };
  for (const layer of layers) number(layer);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isForth = sweep % 2 === 0;
    for (const layer of isForth ? layers : [...layers].reverse()) {
      const wish = new Map<Spot, number>();
      for (const each of layer) {
        const near = isForth ? each.before : each.after;
        const own = places.get(each) ?? 0;
        wish.set(each, near.length ? mean(near.map((other) => places.get(other) ?? 0)) : own);
      }
      layer.sort((one, other) => (wish.get(one) ?? 0) - (wish.get(other) ?? 0));
      number(layer);
    }
  }
}

/** Give every spot its height on the page: in order, apart, and level with its neighbours. */
function align(layers: readonly Spot[][]): void {
  for (const layer of layers) settle(layer, () => 0);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isForth = sweep % 2 === 0;
    for (const layer of isForth ? layers : [...layers].reverse()) {
      settle(layer, (each) => {
        const near = isForth ? each.before : each.after;
        return near.length ? mean(near.map(middle)) - each.height / 2 : each.y;
      });
    }
  }
  const top = Math.min(...layers.flat().map((each) => each.y));
  for (const layer of layers) for (const each of layer) each.y = Math.round(each.y - top);
}

/** Come as near as possible to what each wishes, without any overlap. */
function settle(layer: readonly Spot[], wish: (spot: Spot) => number): void {
  const blocks: { sum: number; many: number }[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (const each of layer) {
    offsets.push(offset);
    blocks.push({ sum: wish(each) - offset, many: 1 });
    offset += each.height + (each.isNode ? GAP : GAP / 2);
    for (let last = blocks.at(-1), near = blocks.at(-2); last && near; ) {
      if (near.sum / near.many <= last.sum / last.many) break;
      blocks.splice(-2, 2, { sum: near.sum + last.sum, many: near.many + last.many });
      [last, near] = [blocks.at(-1), blocks.at(-2)];
    }
  }
  let index = 0;
  for (const block of blocks) {
    for (let left = block.many; left > 0; left -= 1, index += 1) {
      const each = layer[index];
      if (each) each.y = block.sum / block.many + (offsets[index] ?? 0);
    }
  }
}

/** Where each column begins, and on which track the lines of each spot go up or down. */
function channels(layers: readonly Spot[][]): [lefts: number[], tracks: Map<Spot, number>] {
  const lefts: number[] = [];
  const tracks = new Map<Spot, number>();
  let left = 0;
  for (const layer of layers) {
    lefts.push(left);
    const ends: number[] = [];
    const spans = layer
      .filter((each) => each.after.some((next) => Math.abs(middle(next) - middle(each)) > 1))
      .map((each) => ({ each, ys: [each, ...each.after].map(middle) }))
      .sort((one, other) => Math.min(...one.ys) - Math.min(...other.ys));
    for (const { each, ys } of spans) {
      const free = ends.findIndex((end) => end < Math.min(...ys) - TRACK);
      const track = free >= 0 ? free : ends.length;
      ends[track] = Math.max(...ys);
      tracks.set(each, track % MOST_TRACKS);
    }
    left += WIDTH + CHANNEL + Math.min(ends.length, MOST_TRACKS) * TRACK;
  }
  return [lefts, tracks];
}

function trace(
  passed: readonly Spot[],
  lefts: readonly number[],
  tracks: ReadonlyMap<Spot, number>,
): Point[] {
  const points: Point[] = [];
  for (const [index, each] of passed.entries()) {
    const [y, left] = [middle(each) + HEAD, (lefts[each.layer] ?? 0) + FRAME];
    const next = passed[index + 1];
    if (index > 0) points.push([left, y]);
    if (!next) break;
    const turn = left + WIDTH + CHANNEL / 2 + (tracks.get(each) ?? 0) * TRACK;
    points.push([left + WIDTH, y], [turn, y], [turn, middle(next) + HEAD]);
  }
  return points;
}

function path(points: readonly Point[]): string {
  const [start, ...rest] = points;
  if (!start) return "";
  let [x, y] = start;
  let line = `M${x} ${y}`;
  for (const [index, [toX, toY]] of rest.entries()) {
    const [afterX, afterY] = rest[index + 1] ?? [toX, toY];
    const turns = (toX === x) !== (afterX === toX) && (toX !== x || toY !== y);
    const room = Math.min(
      ROUND,
      Math.max(Math.abs(toX - x), Math.abs(toY - y)),
      Math.max(Math.abs(afterX - toX), Math.abs(afterY - toY)) / 2,
    );
    if (turns && room > 0) {
      const back = [toX - Math.sign(toX - x) * room, toY - Math.sign(toY - y) * room];
      const on = [toX + Math.sign(afterX - toX) * room, toY + Math.sign(afterY - toY) * room];
      line += `L${back.join(" ")}Q${toX} ${toY} ${on.join(" ")}`;
    } else line += `L${toX} ${toY}`;
    [x, y] = [toX, toY];
  }
  return line;
}

function arrow([x, y]: Point): string {
  return `M${x} ${y}l-6 -3.5v7z`;
}

function middle(spot: Spot): number {
  return spot.y + spot.height / 2;
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
}
