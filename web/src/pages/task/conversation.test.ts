import { expect, test } from "vitest";
import type { Event } from "../../api/schema";
import { call, conversation, parts } from "./conversation";

const event = (kind: string, text = "", run = "t.1") => ({ kind, text, run }) as Event;

test("checks that follow one another are one list, and what says nothing is left out", () => {
  const told = conversation([
    event("run.said"),
    event("run.used"),
    event("run.checked", "`lint`"),
    event("run.used"),
    event("run.checked", "`test`"),
    event("run.checked", "`test`", "t.2"),
  ]);
  expect(told.map(({ voice, more }) => [voice, more.length])).toEqual([
    ["agent", 0],
    ["check", 1],
    ["check", 0],
  ]);
});

test("what came of a tool is with its call, though others began in between", () => {
  const of = (kind: string, call: string) => ({ ...event(kind, call), data: { call } }) as Event;
  const told = conversation([
    ...[of("run.tool", "a"), of("run.tool", "b"), of("run.result", "a"), of("run.result", "x")],
  ]);
  expect(told.map(({ event: { text }, more }) => [text, more.map((it) => it.text)])).toEqual([
    ["a", ["a"]],
    ["b", []],
  ]);
});

test("a block of code is told from words, also if it never ends", () => {
  expect(parts("So:\n```py\nx = 1\n\ny = `2`\n```\nDone.")).toEqual([
    { text: "So:" },
    { text: "x = 1\n\ny = `2`", language: "py" },
    { text: "Done." },
  ]);
  expect(parts("````\n```\n````")).toEqual([{ text: "```", language: "" }]);
  expect(parts("```sh\nls")).toEqual([{ text: "ls", language: "sh" }]);
  expect(parts("It is `x`.")).toEqual([{ text: "It is `x`." }]);
});

test("a tool is called by the first word", () => {
  expect(call(event("run.tool", "Bash git status\ngit log"))).toEqual({
    name: "Bash",
    detail: "git status\ngit log",
  });
  expect(call(event("run.tool", "TodoWrite"))).toEqual({ name: "TodoWrite", detail: "" });
});
