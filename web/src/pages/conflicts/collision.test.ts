import { expect, test } from "vitest";
import { parse } from "../task/diff";
import { collides, shared } from "./collision";

const diff = (path: string, ...hunks: string[]) =>
  parse([`diff --git a/${path} b/${path}`, `+++ b/${path}`, ...hunks].join("\n"));
const hunk = (from: number, text: string) => `@@ -${from},3 +${from},3 @@\n a\n-b\n+${text}\n c`;

test("changes of the same lines are next to each other, and come first", () => {
  const left = diff("a.py", hunk(1, "x"), hunk(20, "y"));
  const right = diff("a.py", hunk(21, "z"));
  const [file] = shared(left, right, ["a.py"]);
  expect(file?.pairs.map((pair) => [pair.left.length, pair.right.length])).toEqual([
    [1, 1],
    [1, 0],
  ]);
  expect(file?.pairs[0]?.right[0]?.lines[2]?.text).toBe("z");
});

test("one large change collides with all small ones inside it", () => {
  const large = diff("a.py", `@@ -1,40 +1,40 @@\n-b\n+x`);
  const small = diff("a.py", hunk(2, "y"), hunk(30, "z"));
  const [file] = shared(large, small, ["a.py"]);
  expect(file?.pairs).toHaveLength(1);
  expect(file?.pairs[0]?.right).toHaveLength(2);
});

test("two new files of the same name collide", () => {
  const made = (text: string) => diff("new.py", `@@ -0,0 +1 @@\n+${text}`);
  const [file] = shared(made("x"), made("y"), ["new.py"]);
  expect(file?.pairs.every(collides)).toBe(true);
});

test("a file that one side has not changed any more is still named", () => {
  const [file] = shared([], diff("a.py", hunk(1, "x")), ["a.py"]);
  expect(file?.left).toBeUndefined();
  expect(file?.pairs.some(collides)).toBe(false);
});
