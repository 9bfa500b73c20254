"""SVG bars: how many jobs per second each queue claims and completes."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from bench.results import Results
from bench.row import Row

WIDTH, LEFT, BAR, GAP, TOP = 760, 210, 13, 9, 58
COLORS = ("#4878a8", "#a8c4e0")
OURS = ("#c2571a", "#eab48c")
KINDS = ("1 worker", "8 workers")
OURS_BESIDE = {
    "codefleet, SQLite normal": ("litequeue",),
    "codefleet, SQLite full": ("huey", "persist-queue"),
    "codefleet, PostgreSQL": ("pgqueuer", "procrastinate"),
}


class Bars(NamedTuple):
    """One queue: its name and its jobs per second with one worker and with eight."""

    name: str
    rates: tuple[float, float]

    @property
    def colors(self) -> tuple[str, str]:
        return OURS if self.name.startswith("codefleet") else COLORS


def drawn(results: Results) -> str:
    """The plot of whatever was measured."""
    bars = list(_bars(results))
    longest = max((rate for each in bars for rate in each.rates), default=1.0)
    height = TOP + len(bars) * (2 * BAR + GAP) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        '<text x="12" y="22" font-size="15">Claimed and completed, jobs a second</text>',
        '<text x="12" y="42" fill="#666666">upper bar: 1 worker, lower bar: 8 workers</text>',
    ]
    for number, each in enumerate(bars):
        lines += _group(each, TOP + number * (2 * BAR + GAP), longest)
    return "\n".join([*lines, "</svg>", ""])


def _group(each: Bars, top: int, longest: float) -> Iterator[str]:
    name = escape(each.name)
    yield f'<text x="{LEFT - 8}" y="{top + BAR + 4}" text-anchor="end">{name}</text>'
    for number, (rate, color) in enumerate(zip(each.rates, each.colors, strict=True)):
        width = max(1.0, (WIDTH - LEFT - 80) * rate / longest)
        y, end = top + number * BAR, LEFT + width + 5
        yield f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 1}" fill="{color}"/>'
        yield f'<text x="{end:.1f}" y="{y + BAR - 3}" font-size="11">{rate:,.0f}</text>'


def _bars(results: Results) -> Iterator[Bars]:
    """Only what was measured in one run, so that all had the same machine."""
    rows = results["libraries"].rows if "libraries" in results else []
    for ours, beside in OURS_BESIDE.items():
        yield from _bar(ours, [row.ours for row in _worked(rows, beside[0])])
        for name in beside:
            yield from _bar(name, [row.raw for row in _worked(rows, name)])


def _worked(rows: Sequence[Row], name: str) -> list[Row]:
    """The time of one library with one worker, and with eight."""
    wanted = [f"{name}: claim + complete, {kind}" for kind in KINDS]
    return [row for each in wanted for row in rows if row.name == each]


def _bar(name: str, microseconds: Sequence[float]) -> Iterator[Bars]:
    if len(microseconds) == len(KINDS):
        one, eight = (1e6 / each for each in microseconds)
        yield Bars(name, (one, eight))
