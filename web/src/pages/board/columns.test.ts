import { expect, test } from "vitest";
import type { Move, Task } from "../../api/schema";
import { sorted } from "./columns";
import { filterIn, isSame } from "./filter";
import { outlook, placesFor } from "./places";

function task(id: string, more: Partial<Task> = {}): Task {
  const made = { id, title: id, state: "pending", priority: 3, labels: [], repo: "shop", note: "" };
  return { ...made, created_at: "2030-01-01", updated_at: "2030-01-01", ...more } as Task;
}

const ids = (found: Map<string, Task[]>, column: string) =>
  (found.get(column) ?? []).map((each) => each.id);

const moves = (...pairs: [verb: string, to: string][]) =>
  pairs.map(([verb, to]) => ({ verb, to })) as Move[];

const places = (of: Task, ...pairs: [verb: string, to: string][]) =>
  placesFor(of, moves(...pairs)).map((each) => each.id);

test("the most urgent task comes first", () => {
  const found = sorted([task("a"), task("b", { priority: 5 })], {});
  expect(ids(found, "waiting")).toEqual(["b", "a"]);
});

test("approved work is in the lane, not in review", () => {
  const found = sorted([task("a", { state: "review", approved: true })], {});
  expect(ids(found, "lane")).toEqual(["a"]);
});

test("all words of a filter must fit", () => {
  const tasks = [task("a", { title: "Extract the mailer" }), task("b", { title: "The mailer" })];
  expect(ids(sorted(tasks, { text: "mailer extract" }), "waiting")).toEqual(["a"]);
  expect(ids(sorted(tasks, { label: "bug" }), "waiting")).toEqual([]);
});

test("a filter is text, whatever the address says", () => {
  const typed = filterIn({ text: 42, repo: "shop", team: "", other: "x" });
  expect(typed).toEqual({ text: "42", repo: "shop" });
  expect(isSame(typed, { repo: "shop", text: "42" })).toBe(true);
});

test("a card goes only where a legal move leads", () => {
  const pending = task("a");
  expect(
    places(pending, ["pause", "pending"], ["send", "pending"], ["cancel", "cancelled"]),
  ).toEqual(["paused", "cancelled"]);
  expect(places(task("a", { state: "failed" }), ["retry", "pending"])).toEqual(["waiting"]);
  expect(places(task("a", { state: "completed" }))).toEqual([]);
});

test("what may be edited has the other priorities of its own column as places", () => {
  expect(places(task("a", { priority: 4 }), ["edit", "pending"])).toEqual(
    [5, 3, 2, 1].map((each) => `priority ${each}`),
  );
});

test("paused work comes back by being resumed, and editing it leads nowhere else", () => {
  const paused = task("a", { paused: true });
  const found = placesFor(paused, moves(["edit", "pending"], ["resume", "pending"]));
  expect(found.filter((each) => each.column !== "paused").map((each) => each.move.verb)).toEqual([
    "resume",
  ]);
});

test("only what is certain is shown before the core agrees", () => {
  const after = (of: Task, ...pairs: [verb: string, to: string][]) =>
    placesFor(of, moves(...pairs)).map(outlook);
  expect(after(task("a"), ["pause", "pending"])).toEqual([{ paused: true }]);
  expect(after(task("a", { state: "failed" }), ["retry", "pending"])).toEqual([
    { state: "pending" },
  ]);
  expect(after(task("a", { state: "review" }), ["land", "completed"])).toEqual([undefined]);
});
