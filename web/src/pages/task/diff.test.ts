import { expect, test } from "vitest";
import { fingerprint, pairs, parse, place } from "./diff";

const DIFF = `diff --git a/src/till.py b/src/till.py
index 1..2 100644
--- a/src/till.py
+++ b/src/till.py
@@ -3,3 +3,3 @@ def total():
 def total():
-    return 0
+    return sum(prices)
 # end
diff --git a/logo.png b/logo.png
new file mode 100644
Binary files /dev/null and b/logo.png differ
diff --git a/old.py b/old.py
deleted file mode 100644
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
\\ No newline at end of file
`;

test("each line has its numbers before and after", () => {
  const [file] = parse(DIFF);
  expect(file?.path).toBe("src/till.py");
  expect([file?.added, file?.removed]).toEqual([1, 1]);
  expect(file?.hunks[0]?.lines.map((line) => [line.kind, line.before, line.after])).toEqual([
    [" ", 3, 3],
    ["-", 4, null],
    ["+", null, 4],
    [" ", 5, 5],
  ]);
});

test("a file without lines says what became of it", () => {
  expect(parse(DIFF).map((file) => file.note)).toEqual(["", "new, binary", "deleted"]);
  expect(parse(DIFF)[2]?.path).toBe("old.py");
});

test("a comment on a removed line names its number from before", () => {
  const lines = parse(DIFF)[0]?.hunks[0]?.lines ?? [];
  expect(lines.map(place).map((it) => [it.line, it.removed])).toEqual([
    [3, false],
    [4, true],
    [4, false],
    [5, false],
  ]);
});

test("the fingerprint changes with the contents", () => {
  const [one] = parse(DIFF);
  const [other] = parse(DIFF.replace("sum(prices)", "max(prices)"));
  if (!one || !other) throw new Error("nothing was parsed");
  expect(fingerprint(one)).not.toBe(fingerprint(other));
  expect(fingerprint(one)).toBe(fingerprint(one));
});

test("a picture that changes has another fingerprint, though no line of it is shown", () => {
  const of = (after: string) => {
    const [file] = parse(
      `diff --git a/logo.png b/logo.png\nindex 1..${after} 100644\nBinary files a/logo.png and b/logo.png differ\n`,
    );
    return file && fingerprint(file);
  };
  expect(of("2")).toBe(of("2"));
  expect(of("2")).not.toBe(of("3"));
});

test("what was removed stands next to what replaced it", () => {
  const [file] = parse(`diff --git a/a b/a
--- a/a
+++ b/a
@@ -1,5 +1,5 @@
 one
-two
-three
+2
 four
+5
-five
`);
  const sides = pairs(file?.hunks[0]?.lines ?? []);
  expect(sides.map(({ left, right }) => [left?.text, right?.text])).toEqual([
    ["one", "one"],
    ["two", "2"],
    ["three", undefined],
    ["four", "four"],
    [undefined, "5"],
    ["five", undefined],
  ]);
});

test("nothing is nothing", () => {
  expect(parse("")).toEqual([]);
});
