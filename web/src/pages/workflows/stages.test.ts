import { expect, test } from "vitest";
import type { Task, WorkflowStatus } from "../../api/schema";
import { edges, ended, placed } from "./stages";

const stage = (id: string, needs: string[] = [], state = "pending") =>
  ({ id, title: id, needs, state, stage: { name: id } }) as unknown as Task;

test("a stage stands after everything that it needs, next to those that run with it", () => {
  const found = placed([stage("a"), stage("b"), stage("c", ["a", "b"]), stage("d", ["a", "c"])]);
  expect(found.map(({ name, level, row }) => [name, level, row])).toEqual([
    ["a", 0, 0],
    ["b", 0, 1],
    ["c", 1, 0],
    ["d", 2, 0],
  ]);
  expect(edges(found).map(({ from, to }) => from.name + to.name)).toEqual(["ac", "bc", "ad", "cd"]);
});

test("needs outside of the workflow are no edges, and a circle does not hang the page", () => {
  const found = placed([stage("a", ["elsewhere", "b"]), stage("b", ["a"])]);
  expect(edges(found)).toHaveLength(2);
});

test("progress counts every stage that has ended, however it did", () => {
  const tasks = [stage("a", [], "failed"), stage("b", [], "running"), stage("c", [], "completed")];
  expect(ended({ tasks } as unknown as WorkflowStatus)).toBe(2);
});
