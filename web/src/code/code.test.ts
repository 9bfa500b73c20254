import { createLowlight } from "lowlight";
import { expect, test } from "vitest";
import css from "../styles/base.css?raw";
import { INSIDE, LANGUAGES, languageCalled, languageOf } from "./languages";
import { linesOf } from "./tokens";

test("a file's name tells its language", () => {
  const known = [
    "src/till.py",
    "App.TSX",
    "Dockerfile",
    "docker/Dockerfile.dev",
    "Makefile",
    "x.toml",
  ];
  expect(known.map(languageOf)).toEqual([
    ...["python", "typescript", "dockerfile", "dockerfile", "makefile", "ini"],
  ]);
  expect(["LICENSE", "logo.png", "a/constructor", ".toString", ""].map(languageOf)).toEqual(
    Array(5).fill(undefined),
  );
  expect([languageCalled("Rust"), languageCalled("fleet")]).toEqual(["rust", undefined]);
});

test("every language can be loaded, with those inside of it", async () => {
  const lowlight = createLowlight();
  for (const [name, load] of Object.entries(LANGUAGES)) {
    lowlight.register(name, (await load()).default);
  }
  const all = Object.values(INSIDE).flat();
  expect(all.filter((name) => !lowlight.registered(name))).toEqual([]);
  for (const path of ["a.py", "a.kt", "a.html", "a.md"]) {
    expect(lowlight.registered(languageOf(path) ?? "")).toBe(true);
  }
});

test("code becomes lines whose pieces together are the code, also within a string", async () => {
  const lowlight = createLowlight();
  const python = await LANGUAGES.python?.();
  if (python) lowlight.register("python", python.default);
  const code = 'def greet():\n    """Say\n    hello."""\n    return f"<b>{name}</b>"  # 1\n';
  const lines = linesOf(lowlight.highlight("python", code, { prefix: "" }));
  expect(lines.map((line) => line.map(([text]) => text).join("")).join("\n")).toBe(code);
  expect(lines[0]?.slice(0, 1)).toEqual([["def", "keyword"]]);
  expect(lines[2]).toEqual([['    hello."""', "string"]]);
  expect(lines[3]).toContainEqual(["{name}", ""]);
});

test("every colour of code can be read on every ground, in both themes", () => {
  const grounds = ["raised", "sunk", "added", "removed"].map(colours);
  const kinds = ["keyword", "string", "comment", "number", "name", "type"];
  for (const ink of [...kinds.map((kind) => `code-${kind}`), "text", "quiet"].map(colours)) {
    for (const ground of grounds) {
      ink.forEach((each, theme) => {
        expect(contrast(each, ground[theme] ?? "")).toBeGreaterThanOrEqual(4.5);
      });
    }
  }
});

/** The light and the dark value of a colour of the page. */
function colours(name: string): string[] {
  const found = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(css);
  return found?.slice(1) ?? [];
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
