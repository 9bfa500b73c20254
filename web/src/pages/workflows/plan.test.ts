import { expect, test } from "vitest";
import { EXAMPLE, readPlan } from "./plan";

test("a plan is read from YAML and from JSON alike", async () => {
  const plan = { name: "paint", stages: [{ name: "one", prompt: "Paint" }] };
  expect(await readPlan(JSON.stringify(plan), "")).toEqual(plan);
  expect(await readPlan("name: paint\nstages: [{name: one, prompt: Paint}]", "")).toEqual(plan);
});

test("a prompt that is typed replaces that of the file", async () => {
  expect((await readPlan(EXAMPLE, "Paint the shop")).prompt).toBe("Paint the shop");
  expect((await readPlan(EXAMPLE, " ")).prompt).toBe("What should be different?");
});

test("what is no object at all is said to be none", async () => {
  await expect(readPlan("just text", "")).rejects.toThrow("not a workflow");
});

test("broken YAML is refused with its place", async () => {
  await expect(readPlan("name: [", "")).rejects.toThrow("line 1");
});
