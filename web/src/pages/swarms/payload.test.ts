import { expect, test } from "vitest";
import { linesOf, payloadOf } from "./payload";

test("an object is posted as it is, everything else as text", () => {
  expect(payloadOf('{"format": "ISO 8601"}')).toEqual({ format: "ISO 8601" });
  expect(payloadOf("Use ISO 8601.")).toEqual({ text: "Use ISO 8601." });
  expect(payloadOf("[1]")).toEqual({ text: "[1]" });
});

test("a payload is shown by its keys, a text without one", () => {
  expect(linesOf({ text: "Done", files: ["a.py", "b.py"], left: { tests: 2 } })).toEqual([
    ["", "Done"],
    ["files", "a.py, b.py"],
    ["left", '{"tests":2}'],
  ]);
});
