import { expect, test } from "vitest";
import type { CoderFacts, Finding } from "../../api/schema";
import { known, others, spoken } from "./findings";

function finding(what: string, more: Partial<Finding> = {}): Finding {
  return { what, fix: "", must: true, facts: {}, ...more };
}

const coder = (name: string, trouble = "") => ({ name, program: name, trouble }) as CoderFacts;

test("a coder is shown with what the doctor found out", () => {
  const told = finding("coder a: 1.2", { facts: { coder: "a", version: "1.2", logged_in: false } });
  const [first] = known([coder("a")], [told]);
  expect([first?.version, first?.login, first?.finding]).toEqual(["1.2", "not logged in", told]);
});

test("coders that nobody has set up come last", () => {
  const names = known([coder("a", "a is not installed"), coder("b")], []).map(
    (each) => each.facts.name,
  );
  expect(names).toEqual(["b", "a"]);
});

test("what must be fixed comes first, and coders have their own place", () => {
  const all = [
    finding("fine"),
    finding("may", { fix: "x", must: false }),
    finding("must", { fix: "x" }),
    finding("coder", { facts: { coder: "a" } }),
  ];
  expect(others(all).map((each) => each.what)).toEqual(["must", "may", "fine"]);
});

test("what is between backticks is a command", () => {
  expect(spoken("log in: `claude login`")).toEqual([
    { text: "log in: ", isCode: false, at: 0 },
    { text: "claude login", isCode: true, at: 1 },
  ]);
});
