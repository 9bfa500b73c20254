import { expect, test } from "vitest";
import type { Agent, Event, Run, Task } from "../../api/schema";
import { lanesOf, seen, storyOf } from "./lanes";
import {
  DAY,
  HOUR,
  MINUTE,
  pageOf,
  panned,
  read,
  ticks,
  windowOf,
  written,
  zoomed,
} from "./period";

const NOON = Date.parse("2030-01-31T12:00:00Z");
const at = (minutes: number) => new Date(NOON + minutes * MINUTE).toISOString();

function run(id: string, since: number, until: number | null, more: Partial<Run> = {}): Run {
  const [task, number] = id.split(".");
  const ended_at = until === null ? null : at(until);
  const made = { id, task, number: Number(number), agent: "agent-1", host: "here", reason: null };
  return { ...made, started_at: at(since), ended_at, outcome: null, ...more } as Run;
}

function known(id: string, state: Task["state"], runs: number): Map<string, Task> {
  return new Map([[id, { id, title: id, state, runs, approved: false, note: "" } as Task]]);
}

test("the period in the address is what was looked at", () => {
  expect(written({ span: 6 * HOUR })).toEqual({});
  expect(written({ span: 90 * MINUTE })).toEqual({ span: "90m" });
  const past = { span: 2 * DAY, until: NOON };
  expect(read(written(past))).toEqual(past);
  expect(read({ span: "nonsense", until: "never" })).toEqual({ span: 6 * HOUR });
});

test("who moves away from now stays there, and who comes back follows it again", () => {
  const past = panned({ span: HOUR }, -0.5, NOON);
  expect(past.until).toBeLessThan(NOON);
  expect(panned(past, 0.5, NOON)).toEqual({ span: HOUR });
});

test("zooming keeps the moment under the pointer", () => {
  const before = { span: HOUR, until: NOON - DAY };
  const moment = windowOf(before, NOON).since + 0.25 * HOUR;
  const after = zoomed(before, 2, 0.25, NOON);
  expect(windowOf(after, NOON).since + 0.25 * after.span).toBe(moment);
  expect(zoomed({ span: HOUR }, 2, 0.9, NOON)).toEqual({ span: HOUR / 2 });
});

test("small moves read nothing, and a page covers its window", () => {
  const window = { since: NOON, until: NOON + HOUR };
  const page = pageOf(window);
  expect(page.since).toBeLessThanOrEqual(window.since);
  expect(page.until).toBeGreaterThanOrEqual(window.until);
  expect(pageOf({ since: NOON + MINUTE, until: NOON + HOUR + MINUTE })).toEqual(page);
});

test("there are as many ticks as there is room for", () => {
  for (const span of [MINUTE, HOUR, DAY, 30 * DAY]) {
    const found = ticks({ since: NOON, until: NOON + span }, 900);
    expect(found.length).toBeGreaterThan(1);
    expect(found.length).toBeLessThanOrEqual(11);
  }
});

test("an agent without a run has its lane, in the order of names", () => {
  const agents = ["agent-10", "agent-2"].map((name) => ({ name, host: "here" }) as Agent);
  const lanes = lanesOf([run("a.1", 0, null)], known("a", "running", 1), agents, []);
  expect(lanes.map((lane) => lane.name)).toEqual(["agent-1", "agent-2", "agent-10"]);
  expect(lanes[0]?.bars[0]?.look).toBe("running");
});

test("work that landed has a flag, and waited until then", () => {
  const log = [{ kind: "task.completed", task: "a", at: at(20), data: { landed: "c0ffee" } }];
  const runs = [run("a.1", 0, 10, { outcome: "submitted" })];
  const [bar] =
    lanesOf(runs, known("a", "completed", 1), [], log as unknown as Event[])[0]?.bars ?? [];
  expect(bar?.look).toBe("completed");
  expect(bar?.landed).toBe(Date.parse(at(20)));
  expect(bar?.wait?.until).toBe(Date.parse(at(20)));
  expect(bar && storyOf(bar)).toBe("landed");
});

test("a failed try that was repeated is spent, a limit is told apart, and both are waited for", () => {
  const runs = [
    run("a.1", 0, 10, { outcome: "failed", reason: "checks_failed" }),
    run("a.2", 15, 20, { outcome: "failed", reason: "rate_limit" }),
    run("a.3", 60, 70, { outcome: "failed", reason: "stuck" }),
  ];
  const bars = lanesOf(runs, known("a", "failed", 3), [], [])[0]?.bars ?? [];
  expect(bars.map((bar) => bar.look)).toEqual(["spent", "limit", "failed"]);
  expect(bars.map((bar) => bar.wait?.until)).toEqual([
    Date.parse(at(15)),
    Date.parse(at(60)),
    undefined,
  ]);
  expect(bars[2]?.wait).toBeUndefined();
});

test("a question is waited for until now, and can be seen as long", () => {
  const runs = [run("a.1", 0, 10, { outcome: "asked" })];
  const [bar] = lanesOf(runs, known("a", "asking", 1), [], [])[0]?.bars ?? [];
  expect(bar?.look).toBe("asking");
  expect(bar?.wait).toEqual({ look: "asking", until: undefined, text: "waits for an answer" });
  expect(bar && seen(bar, NOON + HOUR, NOON + 2 * HOUR, NOON + 3 * HOUR)).toBe(true);
  expect(bar && seen(bar, NOON - HOUR, NOON, NOON + 3 * HOUR)).toBe(false);
});
