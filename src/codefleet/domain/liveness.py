"""Signals of life -> alive, quiet or stuck, with reasons. One silent signal proves nothing."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from codefleet.domain.model import Worked


class Pulse(NamedTuple):
    """When each sign of life of a running agent was last seen, in seconds ago.

    Only meaningful output counts, not lines that keep a connection alive. Measured by a clock that
    stops while the machine sleeps, since no agent can work meanwhile.
    """

    output_age: float
    cpu_age: float
    files_age: float
    tool_running: bool = False
    first_turn: bool = False


class Patience(NamedTuple):
    """How long a signal may be silent, in seconds."""

    quiet: float = 120.0
    stuck: float = 600.0
    tool: float = 3600.0


BUSY = 0.05
"""The share of a processor above which processes count as busy: a program that waits for an answer
wakes up now and then, and uses less than half of this."""


def window(patience: Patience) -> float:
    """The period, in seconds, over which processor time is measured: one burst is not work."""
    return min(max(1.0, patience.stuck / 10), 30.0)


def is_busy(cpu_seconds: float, seconds: float) -> bool:
    """Is this much processor time in that many seconds a sign of life?"""
    return cpu_seconds > BUSY * seconds


class Life(StrEnum):
    ALIVE = "alive"
    QUIET = "quiet"
    STUCK = "stuck"


class Verdict(NamedTuple):
    life: Life
    reasons: tuple[str, ...]


def judge(pulse: Pulse, patience: Patience) -> Verdict:
    """A run is stuck if it has no output, no processor time and no file changes."""
    silent_for = {
        "no output": pulse.output_age,
        "no CPU time": pulse.cpu_age,
        "no file changed": pulse.files_age,
    }
    if min(silent_for.values()) >= _limit(pulse, patience):
        return Verdict(Life.STUCK, _reasons(silent_for, 0.0))
    if pulse.output_age >= patience.quiet:
        return Verdict(Life.QUIET, _reasons(silent_for, patience.quiet))
    return Verdict(Life.ALIVE, ())


def worked_on(worked: Worked | None, boot: str, uptime: float) -> Worked:
    """The work up to now, including the time in which no runner was there to measure it."""
    if worked is None or worked.boot != boot:
        return Worked(boot=boot, uptime=uptime)
    passed = max(0.0, uptime - worked.uptime)
    return worked.evolve(uptime=uptime, seconds=worked.seconds + passed)


def covered(spans: Iterable[tuple[datetime, datetime]]) -> float:
    """The seconds that these spans cover together; overlaps count once."""
    seconds, end = 0.0, None
    for start, stop in sorted(spans):
        begins = max(start, end) if end else start
        seconds += max(0.0, (stop - begins).total_seconds())
        end = max(stop, end) if end else stop
    return seconds


def _limit(pulse: Pulse, patience: Patience) -> float:
    """A tool may take long, and a first turn reads a lot before it prints anything."""
    limit = patience.tool if pulse.tool_running else patience.stuck
    return limit * 2 if pulse.first_turn else limit


def _reasons(silent_for: dict[str, float], at_least: float) -> tuple[str, ...]:
    return tuple(f"{what} for {age:.0f} s" for what, age in silent_for.items() if age >= at_least)
