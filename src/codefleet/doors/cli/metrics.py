"""The fleet in numbers, and whether it is well: `fleet metrics`, `fleet health`."""

from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from codefleet.domain.errors import Unreachable
from codefleet.domain.measures import Histogram, Measures
from codefleet.doors.cli import show
from codefleet.doors.cli.call import home, json_option, look, server
from codefleet.doors.cli.text import table

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

ANSWER_WITHIN_S = 5.0


@click.command()
@json_option
def metrics(as_json: bool) -> None:
    """Show the fleet in numbers: tasks, agents, runs, waiting times, tokens and money.

    A server offers the same to Prometheus at /metrics.
    """
    measures = look(_measured)
    if as_json:
        show.noun(measures)
    else:
        click.echo(table(("METRIC", "VALUE"), list(_lines(measures)), stretch=()))


@click.command()
@json_option
def health(as_json: bool) -> None:
    """Check that the store answers and, if the fleet is served, that its server does."""
    seq = look(_last_seq)
    url = server() or _served_here()
    if as_json:
        show.data({"status": "ok", "last_event": seq, "server": url})
    else:
        click.echo(f"ok; served at {url}" if url else "ok; not being served")


async def _measured(fleet: "Fleet") -> Measures:
    from codefleet.fleet.measures import MetricsReader

    return await MetricsReader(fleet).read(fleet)


async def _last_seq(fleet: "Fleet") -> int:
    return await fleet.last_seq()


def _served_here() -> str | None:
    """Where this home is served, if it is; an error if that server does not answer."""
    from codefleet.doors.http import record  # imported here: only this command needs it

    found = record.living(home())
    if found:
        _refuse_silence(found.url)
    return found.url if found else None


def _refuse_silence(url: str) -> None:
    """Ask the server itself; an error if it does not answer."""
    place = urlsplit(url)
    connection = HTTPConnection(str(place.hostname), place.port, timeout=ANSWER_WITHIN_S)
    try:
        connection.request("GET", "/health")
        is_well = connection.getresponse().status == 200
    except (OSError, HTTPException):
        is_well = False
    finally:
        connection.close()
    if not is_well:
        raise Unreachable(
            f"the server at {url} does not answer", hint="`fleet serve --stop` stops it"
        )


def _lines(now: Measures) -> Iterator[tuple[str, str]]:
    yield from _each("tasks", now.tasks)
    yield from _each("waiting", now.waiting)
    yield from _each("agents", now.agents)
    yield "agents at work", str(now.workers)
    yield from _each("inbox", now.inbox)
    yield from _each("accounts at rest", now.rests)
    yield "conflicts", str(now.conflicts)
    if now.totals is None:
        return
    for each in now.totals.runs_ended:
        yield f"runs {each.outcome} {each.reason}".rstrip(), str(each.many)
    for coder, usage in now.totals.used.items():
        yield f"{coder} tokens", f"{usage.tokens:,}"
        yield f"{coder} cost", f"${usage.cost_usd:,.2f}"
    yield "wait until start", _average(now.totals.claim_seconds)
    yield "wait until landed", _average(now.totals.landing_seconds)


def _each(noun: str, values: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for word, many in sorted(values.items()):
        yield f"{noun} {word}", f"{many:,}"


def _average(histogram: Histogram) -> str:
    many = sum(histogram.counts)
    return f"{histogram.total / many:,.1f} s on average" if many else "-"
