"""Measure: `python -m bench [PART ...] [--quick]` prints ours next to raw, and the ratio.

Without --quick, the results go into docs/explanation/performance.md, with a plot.
"""

import argparse
from importlib import import_module

from bench import page, results
from bench.row import Row

PARTS = (
    *("store", "postgres", "libraries", "worktree", "walk", "wake", "agents", "tools"),
    *("cli", "mcp", "http", "dashboard"),
)
BY_NAME = ("scale",)
"""Run only if named: they take minutes and a lot of disk space."""
KNOWN = (*PARTS, *BY_NAME)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of: {', '.join(KNOWN)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, rough numbers")
    asked = parser.parse_args()
    for part in asked.parts:
        if part not in KNOWN:
            parser.error(f"{part} is no part; there are: {', '.join(KNOWN)}")
    print(f"{'':58} {'ours':>12} {'raw':>12} {'ratio':>7} {'goal':>6}")
    for part in asked.parts or PARTS:
        measured = results.Part(results.machine(), [])
        for row in import_module(f"bench.{part}").measure(asked.quick):
            print(_line(row), flush=True)
            measured.rows.append(row)
        if not asked.quick:
            results.save({part: measured})
            page.write(results.read())


def _line(row: Row) -> str:
    ours, raw = (f"{value:,.1f} {row.unit}" for value in (row.ours, row.raw))
    goal = "" if row.goal is None else f"{row.goal:g}"
    return f"{row.name:58} {ours:>12} {raw:>12} {row.ours / row.raw:>7.2f} {goal:>6}"


if __name__ == "__main__":
    main()
