import { expect, test } from "vitest";
import type { Event, Need, Task } from "../api/schema";
import { conflictThing, neededThing, together } from "./things";

const review = (runs: number, since = "2026-01-01T00:00:00Z") =>
  neededThing({
    ...{ kind: "review", ref: "t1", text: "", options: [], moves: [], since },
    task: { id: "t1", title: "Greet", runs } as Task,
  } as Need);

test("work in review is one thing until another run has changed it", () => {
  expect(review(1).key).toBe(review(1, "2026-01-02T00:00:00Z").key);
  expect(review(1).key).not.toBe(review(2).key);
});

test("a review opens its diff, and what has no task the inbox", () => {
  expect(review(1).to).toBe("/task/t1?tab=diff");
  const login = { kind: "account", ref: "claude", text: "log in", since: "1" } as Need;
  expect(neededThing({ ...login, task: null }).to).toBe("/inbox");
});

test("both tasks of a conflict tell the same thing", () => {
  const [one, other] = ["a", "b"].map((task) =>
    conflictThing({ kind: "conflict.found", task, text: "a and b both change x" } as Event),
  );
  expect(one?.key).toBe(other?.key);
});

test("many at once become one", () => {
  const things = [1, 2, 3].map((runs) => review(runs));
  expect(together(things, 3)).toHaveLength(3);
  expect(together(things, 2).map(({ title }) => title)).toEqual(["3 things need you"]);
});
