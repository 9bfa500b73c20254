import { expect, test } from "vitest";
import type { Dependencies, Task } from "../../api/schema";
import { next } from "./cursor";
import { layout } from "./layout";
import { marksOf, stateOf, weightOf } from "./marks";
import { type Choice, isFold, picture, related } from "./picture";
import { fitted, isIn, regionOf, revealed, zoomed } from "./view";

const OPEN: Choice = { all: false, folds: true, open: new Set(), kept: new Set() };

function task(id: string, needs: string[] = [], more: Partial<Task> = {}): Task {
  return { id, title: id, needs, state: "pending", repo: "shop", stage: null, ...more } as Task;
}

const map = (...tasks: Task[]) => new Map(tasks.map((each) => [each.id, each]));

const HOUSE = map(
  task("floor", [], { state: "completed" }),
  task("walls", ["floor"], { state: "running" }),
  task("roof", ["walls"]),
  task("paint", ["walls", "tools"]),
  task("tools"),
  task("letter"),
);

/** Three phases of many tasks, each needing one or two of the phase before. */
function crowd(many: number): Map<string, Task> {
  const wide = Math.ceil(many / 3);
  const made = Array.from({ length: many }, (_, at) => {
    const before = at - wide;
    return task(`t${at}`, before < 0 ? [] : [`t${before}`]);
  });
  return map(...made);
}

const flow = (name: string): Partial<Task> =>
  ({ stage: { workflow: "w1", name, number: 1 } }) as Partial<Task>;

test("tasks stand to the right of all that they need, and those without needs stay out", () => {
  const { nodes, alone } = picture(HOUSE, OPEN);
  const layers = Object.fromEntries(nodes.map((node) => [node.id, node.layer]));
  expect(layers).toEqual({ floor: 0, tools: 0, walls: 1, roof: 2, paint: 2 });
  expect(alone).toBe(1);
});

test("what is finished shows only while something needs it, or on demand", () => {
  const done = map(
    task("a", [], { state: "completed" }),
    task("b", ["a"], { state: "completed" }),
    task("c", ["b"]),
  );
  expect(picture(done, OPEN).nodes.map((node) => node.id)).toEqual(["c", "b"]);
  expect(picture(done, { ...OPEN, all: true }).tasks).toBe(3);
});

test("a workflow keeps its finished stages and is a cluster of its own", () => {
  const stages = map(
    task("build", [], { state: "completed", ...flow("build") }),
    task("test", ["build"], flow("test")),
    task("other", []),
    task("after", ["other"]),
  );
  const { nodes } = picture(stages, OPEN);
  const clusters = new Map(nodes.map((node) => [node.id, node.cluster]));
  expect(clusters.get("build")).toBe("flow:w1");
  expect(clusters.get("test")).toBe("flow:w1");
  expect(clusters.get("other")).toBe(clusters.get("after"));
  expect(clusters.get("other")).not.toBe("flow:w1");
});

test("many calm tasks of a phase are one node, and what matters stays by itself", () => {
  const many = crowd(300);
  many.set("t0", task("t0", [], { state: "failed" }));
  const folded = picture(many, { ...OPEN, kept: new Set(["t1"]) });
  expect(folded.tasks).toBe(300);
  expect(folded.nodes.filter(isFold)).toHaveLength(3);
  expect(folded.nodes.filter((node) => !isFold(node)).map((node) => node.id)).toEqual(["t0", "t1"]);
  const opened = picture(many, { ...OPEN, open: new Set(["rest.1"]) });
  expect(opened.nodes.filter(isFold)).toHaveLength(2);
  expect(picture(many, { ...OPEN, folds: false }).nodes).toHaveLength(300);
});

test("no two nodes overlap, and every edge leads from left to right", () => {
  const shown = picture(crowd(1000), { ...OPEN, folds: false });
  const { at, routes } = layout(shown.nodes, shown.edges);
  const boxes = [...at.values()].sort((one, other) => one.x - other.x || one.y - other.y);
  for (const [index, box] of boxes.entries()) {
    const below = boxes[index + 1];
    if (below?.x === box.x) expect(below.y).toBeGreaterThanOrEqual(box.y + box.height);
  }
  expect(routes).toHaveLength(shown.edges.length);
  for (const { from, to } of routes) {
    expect(at.get(from)?.x ?? 0).toBeLessThan(at.get(to)?.x ?? 0);
  }
});

test("edges only run along the axes, apart from round corners", () => {
  const shown = picture(HOUSE, OPEN);
  for (const { line } of layout(shown.nodes, shown.edges).routes) {
    const points = line.replace(/Q\S+ \S+ /g, "L").match(/-?[\d.]+ -?[\d.]+/g) ?? [];
    const numbers = points.map((point) => point.split(" ").map(Number));
    for (const [index, [x = 0, y = 0]] of numbers.slice(1).entries()) {
      const [beforeX = 0, beforeY = 0] = numbers[index] ?? [];
      const isCorner = Math.abs(x - beforeX) <= 5 && Math.abs(y - beforeY) <= 5;
      expect(x === beforeX || y === beforeY || isCorner).toBe(true);
    }
  }
});

test("what is on the way to and from a task is related to it, but not its siblings", () => {
  const { edges } = picture(HOUSE, OPEN);
  expect([...related("paint", edges)].sort()).toEqual(["floor", "paint", "tools", "walls"]);
});

test("the core says what is critical, what a failure holds up and what waits", () => {
  const marks = marksOf({
    critical_path: ["a", "b"],
    holds_up: [["a", 1]],
    failures: [["x", ["y", "z"]]],
    tasks: [
      [0, task("a")],
      [1, task("b")],
      [0, task("y")],
    ],
  } as Dependencies);
  const none = new Set<string>();
  expect(weightOf({ from: "a", to: "b" }, marks, none)).toBe("critical");
  expect(weightOf({ from: "x", to: "y" }, marks, none)).toBe("broken");
  expect(weightOf({ from: "y", to: "z" }, marks, none)).toBe("held");
  expect(weightOf({ from: "a", to: "c" }, marks, none)).toBe("plain");
  expect(stateOf(task("b"), marks)).toBe("blocked");
  expect(stateOf(task("y"), marks)).toBe("blocked");
  expect(stateOf(task("a"), marks)).toBe("pending");
  expect(marks.holds.get("x")).toBe(2);
});

test("keys follow the edges sideways and the columns up and down", () => {
  const shown = picture(HOUSE, OPEN);
  const { at } = layout(shown.nodes, shown.edges);
  expect(next("floor", "right", at, shown.edges)).toBe("walls");
  expect(next("roof", "left", at, shown.edges)).toBe("walls");
  const pair = ["roof", "paint"].sort((a, b) => (at.get(a)?.y ?? 0) - (at.get(b)?.y ?? 0));
  expect(next(pair[0], "down", at, shown.edges)).toBe(pair[1]);
  expect(next(undefined, "down", at, shown.edges)).toBeDefined();
});

test("zooming keeps the point under the pointer, and fitting shows everything", () => {
  const view = zoomed({ x: 10, y: 20, scale: 1 }, 2, 110, 220);
  expect((110 - view.x) / view.scale).toBe(100);
  const size = { width: 800, height: 600 };
  const fit = fitted({ x: 0, y: 0, width: 4000, height: 100 }, size);
  expect(4000 * fit.scale + fit.x).toBeLessThanOrEqual(800);
  const moved = revealed({ x: 0, y: 0, scale: 1 }, { x: 900, y: 0, width: 100, height: 50 }, size);
  expect(1000 + moved.x).toBeLessThanOrEqual(800);
});

test("what is on the screen is in the region that is drawn, and small moves leave it", () => {
  const size = { width: 800, height: 600 };
  const view = { x: -1000, y: -50, scale: 0.5 };
  const region = regionOf(view, size);
  expect(isIn({ x: 2000, y: 100, width: 10, height: 10 }, region)).toBe(true);
  expect(isIn({ x: 3590, y: 1290, width: 10, height: 10 }, region)).toBe(true);
  expect(isIn({ x: 8000, y: 100, width: 10, height: 10 }, region)).toBe(false);
  expect(regionOf({ ...view, x: view.x - 5, y: view.y - 5 }, size)).toEqual(region);
});
