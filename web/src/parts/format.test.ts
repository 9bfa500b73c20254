import { expect, test } from "vitest";
import { clock, count, money, span, tokens } from "./format";

test("times are short", () => {
  expect([4, 61, 7300, 200_000].map(span)).toEqual(["4s", "1m", "2h", "2d"]);
  expect([7, 724, 3729].map(clock)).toEqual(["0:07", "12:04", "1:02:09"]);
});

test("money and tokens keep their width", () => {
  expect([0, 0.004, 1.5, 250].map(money)).toEqual(["$0", "<$0.01", "$1.50", "$250"]);
  expect([900, 5400, 31_000, 2_500_000].map(tokens)).toEqual(["900", "5.4k", "31k", "2.5M"]);
});

test("one is not many", () => {
  expect([count(1, "comment"), count(2000, "comment")]).toEqual(["1 comment", "2,000 comments"]);
});
