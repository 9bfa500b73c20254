import { expect, test } from "vitest";
import type { Flow, Spent } from "../../api/schema";
import { ended, everyDay, line, lines, percent } from "./bill";

function spent(usd: number, more: Partial<Spent> = {}): Spent {
  const usage = { input_tokens: 100, output_tokens: 10, cached_tokens: 0, cost_usd: usd };
  const empty = { day: "", coder: "", model: "", repo: "", task: "" };
  return { ...empty, source: "reported", usage, ...more } as Spent;
}

test("the rows of all sources of a price are one line", () => {
  const rows = [spent(1, { coder: "a" }), spent(2, { coder: "a", source: "estimated" })];
  expect(lines(rows, "coder")).toEqual([{ name: "a", usd: 3, tokens: 220, text: "~$3.00" }]);
});

test("the dearest comes first, and what has no name is called so", () => {
  const rows = [spent(1, { model: "small" }), spent(5)];
  expect(lines(rows, "model").map((each) => each.name)).toEqual(["unnamed", "small"]);
});

test("tokens without a price are not free", () => {
  expect(line("all", [spent(0, { source: "unpriced" })]).text).toBe("?");
  expect(line("all", [spent(2), spent(0, { source: "unpriced" })]).text).toBe("$2.00 + ?");
});

test("days without any cost are shown too", () => {
  const days = everyDay(
    lines([spent(1, { day: "2030-02-28" })], "day"),
    "2030-02-27T23:10:00Z",
    "2030-03-01T00:10:00Z",
  );
  expect(days.map((each) => [each.name, each.usd])).toEqual([
    ["2030-02-27", 0],
    ["2030-02-28", 1],
    ["2030-03-01", 0],
  ]);
});

test("a column says what ended in it", () => {
  const flow = { at: "2030-03-01T00:00:00Z", added: 4, completed: 2, failed: 1, cancelled: 0 };
  expect(ended([flow as Flow], 86_400)[0]?.title).toBe("1 Mar: 2 completed, 1 failed, 4 added");
});

test("a share of nothing is no number", () => {
  expect([percent(0, 0), percent(2, 3)]).toEqual(["–", "67 %"]);
});
