import { expect, test } from "vitest";
import type { Event } from "../api/schema";
import { touched } from "./touched";

const nouns = (kind: string, task: string | null = "a") =>
  touched({ kind, task } as Event).map(([noun]) => noun);

test("what an agent says makes only its output old", () => {
  expect(nouns("run.said")).toEqual(["output"]);
  expect(nouns("run.result")).toEqual(["output"]);
});

test("a move of a task touches the task and the board", () => {
  expect(nouns("task.approved")).toEqual(
    expect.arrayContaining(["board", "tasks", "moves", "reviews"]),
  );
});

test("what is not about a task touches its own noun", () => {
  expect(nouns("swarm.created", null)).toEqual(["board", "swarms", "workers"]);
});

test("a run that starts changes who works; what it uses meanwhile does not", () => {
  expect(nouns("run.started")).toEqual(expect.arrayContaining(["agents", "workers", "workflows"]));
  expect(nouns("run.used")).not.toContain("workers");
});
