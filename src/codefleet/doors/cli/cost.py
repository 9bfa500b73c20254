"""The bill: `fleet cost`."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from codefleet.domain.errors import Invalid
from codefleet.domain.model import TaskId, Usage
from codefleet.domain.moment import span
from codefleet.domain.prices import Source
from codefleet.domain.views import Spent
from codefleet.doors.cli import show
from codefleet.doors.cli.call import home, json_option, look, say
from codefleet.doors.cli.text import clean, count, table
from codefleet.fleet.costs import BY
from codefleet.ports import TaskQuery

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

BAR = 24
EIGHTHS = " ▏▎▍▌▋▊▉█"

Names = tuple[str, ...]


class Moment(click.ParamType[datetime]):
    """A day such as 2026-11-01, or how long ago: 12h, 7d, 2w."""

    name = "when"

    def convert(
        self, value: str | datetime, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        with suppress(Invalid):
            return datetime.now(UTC) - span(value)
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(
                f"{clean(value)!r} is not a date such as 2026-11-01, or an age such as 12h, 7d, 2w"
            )
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Row:
    """The sum of all rows with the same names, whatever their source."""

    def __init__(self, rows: Sequence[Spent], in_money: bool = True) -> None:
        self.usage = sum((row.usage for row in rows), start=Usage())
        self.unpriced = sum(r.usage.tokens for r in rows if r.source == Source.UNPRICED)
        self.sources = {row.source for row in rows}
        self.size = self.usage.cost_usd if in_money else float(self.usage.tokens)

    @property
    def cells(self) -> Sequence[str]:
        return self.money, f"{self.usage.tokens:,}", f"{self.usage.cached_tokens:,}"

    @property
    def money(self) -> str:
        """The cost, with `~` if part of it is estimated and `?` if part of it has no price."""
        if self.sources == {Source.UNPRICED}:
            return "?"
        rough = "~" if Source.ESTIMATED in self.sources else ""
        unknown = " + ?" if Source.UNPRICED in self.sources else ""
        return f"{rough}${self.usage.cost_usd:,.2f}{unknown}"


@click.command()
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(BY),
    default=("day", "coder"),
    show_default=True,
    help="One row for each; repeatable.",
)
@click.option(
    "--since",
    type=Moment(),
    default="7d",
    show_default=True,
    metavar="WHEN",
    help="A day (2026-11-01), or how long ago (12h, 7d, 2w).",
)
@click.option("--until", type=Moment(), metavar="WHEN", help="The same; default: now.")
@json_option
def cost(by: tuple[str, ...], since: datetime, until: datetime | None, as_json: bool) -> None:
    """Show what the agents cost, by day, coder, model, repo or task.

    Days begin at midnight UTC. The cost is what the agent program reported or, if it reported none,
    its tokens at list prices or at your own.
    """
    by = tuple(dict.fromkeys(by))

    async def read(fleet: "Fleet") -> tuple[Sequence[Spent], Mapping[str, str], list[str]]:
        rows = await fleet.cost(by=by, since=since, until=until)
        tasks = await fleet.list(TaskQuery(ids=[TaskId(row.task) for row in rows if row.task]))
        models = await fleet.cost(by=("model",), since=since, until=until)
        unpriced = [row.model or "" for row in models if row.source == Source.UNPRICED]
        return rows, {task.id: task.title for task in tasks}, unpriced

    rows, titles, unpriced = look(read)
    if as_json:
        show.nouns(rows)
    elif not rows:
        say(f"nothing spent since {since:%Y-%m-%d %H:%M} UTC")
    else:
        click.echo(_drawn(by, rows, titles))
        for words in _notes(rows, unpriced):
            say(words)


def _drawn(by: Sequence[str], rows: Sequence[Spent], titles: Mapping[str, str]) -> str:
    """A table with bars and a total: days in order, anything else by descending cost."""
    total = Row(rows)
    sums = _summed(by, rows, in_money=bool(total.usage.cost_usd))
    largest = max(each.size for each in sums.values()) or 1
    numbers = _aligned([*(each.cells for each in sums.values()), total.cells])
    lines = [
        (*(_named(name, titles) for name in names), *cells, _bar(each.size / largest))
        for (names, each), cells in zip(sums.items(), numbers, strict=False)
    ]
    lines.append((click.style("total", bold=True), *[""] * (len(by) - 1), *numbers[-1], ""))
    headings = (*(name.upper() for name in by), "COST", "TOKENS", "CACHED", "")
    return table(headings, lines, stretch=range(len(by)))


def _summed(by: Sequence[str], rows: Sequence[Spent], in_money: bool) -> dict[Names, Row]:
    groups: dict[Names, list[Spent]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) or "-" for name in by), []).append(row)
    sums = {names: Row(group, in_money) for names, group in groups.items()}
    if by[0] == "day":
        return sums
    return dict(sorted(sums.items(), key=lambda each: each[1].size, reverse=True))


def _named(name: str, titles: Mapping[str, str]) -> str:
    return clean(f"{name}  {titles[name]}" if name in titles else name)


def _aligned(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The cells of each column, right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [[cell.rjust(wide) for cell, wide in zip(row, widths, strict=True)] for row in rows]


def _bar(share: float) -> str:
    """A bar as long as the share, to an eighth of a column."""
    whole, rest = divmod(round(share * BAR * 8), 8)
    return click.style(EIGHTHS[8] * whole + EIGHTHS[rest].strip(), fg="cyan")


def _notes(rows: Iterable[Spent], unpriced: Sequence[str]) -> Iterator[str]:
    """Notes on the costs above."""
    total = Row(list(rows))
    if total.sources & {Source.PRICED, Source.ESTIMATED}:
        from codefleet.runner.limits.ledger import price_list  # here, because few bills need it

        yield f"costs computed from tokens use list prices of {price_list().as_of}, or your own"
    if Source.ESTIMATED in total.sources:
        yield "~ is an estimate from the length of prompts and output: no tokens were reported"
    if total.unpriced:
        yield f"? stands for {count(total.unpriced, 'token')} of a model without a price"
        yield from _prices_wanted(unpriced)


def _prices_wanted(models: Sequence[str]) -> Iterator[str]:
    """How to give these models a price."""
    named = [model for model in dict.fromkeys(models) if model]
    if named:
        yield f"set one, in US dollars per million tokens (in {home() / 'fleet.toml'}):"
    for model in named:
        price = "'{ input = 1.25, output = 10, cached = 0.125 }'"
        yield clean(f"  fleet config set {shlex.quote(f'prices.{model}')} {price}")
    if len(named) < len(set(models)):
        yield "some runs name no model: choose one with --model, or `fleet config set model NAME`"
