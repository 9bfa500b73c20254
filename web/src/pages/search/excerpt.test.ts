import { expect, test } from "vitest";
import { excerpt, isIn, pieces } from "./excerpt";

const marked = (text: string, query: string) =>
  pieces(text, query).flatMap((each) => (each.isMarked ? [each.text] : []));

test("words are marked where they begin, whatever their case", () => {
  expect(marked("Extract the Mailer; email stays", "mail extr")).toEqual(["Extr", "Mail"]);
});

test("the pieces are the whole text, in its order", () => {
  const text = "a mailer, a Mail and no more";
  expect(
    pieces(text, "mail")
      .map((each) => each.text)
      .join(""),
  ).toBe(text);
});

test("signs of a pattern are only signs", () => {
  expect(marked("What (is) this.*", ".* (is")).toEqual(["is"]);
  expect(pieces("text", "(*")).toEqual([{ text: "text", isMarked: false, at: 0 }]);
});

test("scripts without spaces are marked inside of words", () => {
  expect(marked("東京都の天気", "天気")).toEqual(["天気"]);
});

test("an excerpt of a long text is about the place that was looked for", () => {
  const long = `${"before ".repeat(100)}needle ${"after ".repeat(100)}`;
  const line = excerpt(long, "needle");
  expect(line).toContain("needle");
  expect(line.length).toBeLessThan(260);
  expect([line.startsWith("… "), line.endsWith(" …")]).toEqual([true, true]);
  expect(excerpt("short\n text", "x")).toBe("short text");
});

test("a text has some of the words or none", () => {
  expect([isIn("Mailer", "mail"), isIn("Email", "mail"), isIn("x", "")]).toEqual([
    true,
    false,
    false,
  ]);
});
