"""The performance page: its tables and plot are generated here, its prose is written by hand."""

import re
from collections.abc import Iterator
from pathlib import Path

from bench import plot
from bench.results import Part, Results
from bench.row import Row

FOLDER = Path(__file__).parent.parent / "docs" / "explanation"
PAGE = FOLDER / "performance.md"
PLOT = FOLDER / "performance.svg"
TABLE = re.compile(r"<!-- bench: (\w+) -->\n.*?<!-- end -->", re.DOTALL)
HEADINGS = {
    "libraries": ("codefleet", "the library"),
    "scale": ("1,000,000 tasks", "10,000 tasks"),
}


def write(results: Results) -> None:
    """Redraw the plot and fill in every table of the page that was measured."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
    PLOT.write_text(plot.drawn(results), encoding="utf-8")


def filled(text: str, results: Results) -> str:
    """The page with the latest measurements in its tables."""

    def table(found: re.Match[str]) -> str:
        part = results.get(found[1])
        return "\n".join(_table(found[1], part)) if part else found[0]

    return TABLE.sub(table, text)


def _table(name: str, part: Part) -> Iterator[str]:
    ours, beside = HEADINGS.get(name, ("ours", "raw"))
    yield f"<!-- bench: {name} -->"
    yield f"On {part.machine}:"
    yield ""
    yield f"| | {ours} | {beside} | ratio | goal |"
    yield "|---|--:|--:|--:|--:|"
    yield from map(_line, part.rows)
    yield "<!-- end -->"


def _line(row: Row) -> str:
    goal = "" if row.goal is None else f"{row.goal:g}"
    ours, raw = _number(row.ours, row.unit), _number(row.raw, row.unit)
    return f"| {row.name.strip()} | {ours} | {raw} | {row.ours / row.raw:.2f} | {goal} |"


def _number(value: float, unit: str) -> str:
    return f"{value:,.2f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
