import { expect, test } from "vitest";
import type { Setting } from "../../api/schema";
import { command, fitting, place } from "./filter";

function setting(key: string, more: Partial<Setting> = {}): Setting {
  const empty = { value: "", default: "", meaning: "", choices: [], overridden_by: "" };
  return { ...empty, key, source: "default", ...more };
}

test("all words of a filter must fit the name, the value or the meaning", () => {
  const all = [setting("agents", { meaning: "How many run at once." }), setting("attempts")];
  expect(fitting(all, { text: "many AGENTS" }).map((each) => each.key)).toEqual(["agents"]);
});

test("what is as by default can be left out", () => {
  const all = [setting("agents", { source: "FLEET_AGENTS" }), setting("attempts")];
  expect(fitting(all, { changed: true }).map((each) => each.key)).toEqual(["agents"]);
});

test("a place is told in a word", () => {
  const told = ["home: /a/fleet.toml", "repo: /b/fleet.toml", "FLEET_AGENTS", "flag", "default"];
  expect(told.map(place)).toEqual([
    "fleet.toml",
    "repo's fleet.toml",
    "FLEET_AGENTS",
    "flag",
    "default",
  ]);
});

test("a command can be pasted into a shell", () => {
  expect(command("agents", "5")).toBe("fleet config set agents 5");
  expect(command("checks", "make test")).toBe("fleet config set checks 'make test'");
  expect(command("model", "it's")).toBe(`fleet config set model 'it'"'"'s'`);
  expect(command("model", "")).toBe("fleet config set model ''");
});
