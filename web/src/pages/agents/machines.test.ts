import { expect, test } from "vitest";
import type { Agent, AtWork, Crew } from "../../api/schema";
import { machines, memory, tasksOf } from "./machines";

const seat = (name: string, host: string, more: Partial<Agent> = {}) =>
  ({
    ...{ name, host, runner: `r-${host}`, state: "idle", run: null, load: 0.5 },
    ...{ memory_free_mb: 100, seen_at: "2030-01-01T00:00:00Z" },
    ...more,
  }) as Agent;
const crew = (seats: Agent[], standing_by: string[] = []) =>
  ({ seats, standing_by }) as unknown as Crew;

test("seats are by machine, each with what it works on", () => {
  const work = { run: { id: "1" }, task: { id: "t" } } as AtWork;
  const found = machines(
    crew([seat("a", "two"), seat("b", "one", { run: "1", state: "working", load: 2 })]),
    [work],
  );
  expect(found.map((each) => [each.host, each.working, each.load])).toEqual([
    ["one", 1, 2],
    ["two", 0, 0.5],
  ]);
  expect(tasksOf(found)).toEqual([{ id: "t" }]);
});

test("a machine that stands by has no seats, and is shown", () => {
  const [found] = machines(crew([], ["idle"]), []);
  expect(found).toMatchObject({ host: "idle", seats: [], seenAt: null });
});

test("memory is told in the unit that people say", () => {
  expect([memory(512), memory(15_900)]).toEqual(["512 MB", "15.9 GB"]);
});
