"""Signals of life -> alive, quiet or stuck, with reasons. One silent signal proves nothing."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from codefleet.domain.model import Worked


class Pulse(NamedTuple):
    """What was last seen of a running agent, in seconds ago.

    Output is what had a meaning: a line that only keeps a connection alive is none. Told by a clock
    that stands still while the machine sleeps, since no agent can move meanwhile.
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
"""The share of a processor above which processes do something: a program that waits for an answer
wakes up now and then, and takes less than half of this."""


def window(patience: Patience) -> float:
    """Over how many seconds processor time is looked at: one burst is not work."""
    return min(max(1.0, patience.stuck / 10), 30.0)


def is_busy(cpu_seconds: float, seconds: float) -> bool:
    """Is this much processor time in so many seconds a sign of life?"""
    return cpu_seconds > BUSY * seconds


class Life(StrEnum):
    ALIVE = "alive"
    QUIET = "quiet"
    STUCK = "stuck"


class Verdict(NamedTuple):
    life: Life
    reasons: tuple[str, ...]


def judge(pulse: Pulse, patience: Patience) -> Verdict:
    """A run is stuck when nothing is printed and neither the processor nor a file moves."""
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
    """The work up to now: the time in which no runner was there to measure it counts too."""
    if worked is None or worked.boot != boot:
        return Worked(boot=boot, uptime=uptime)
    passed = max(0.0, uptime - worked.uptime)
    return worked.evolve(uptime=uptime, seconds=worked.seconds + passed)


def covered(spans: Iterable[tuple[datetime, datetime]]) -> float:
    """The seconds that these spans cover together; where they overlap they count once."""
    seconds, end = 0.0, None
    for start, stop in sorted(spans):
        begins = max(start, end) if end else start
        seconds += max(0.0, (stop - begins).total_seconds())
        end = max(stop, end) if end else stop
    return seconds


def _limit(pulse: Pulse, patience: Patience) -> float:
    """A tool may take long, and a first turn reads a lot before it says anything."""
    limit = patience.tool if pulse.tool_running else patience.stuck
    return limit * 2 if pulse.first_turn else limit


def _reasons(silent_for: dict[str, float], at_least: float) -> tuple[str, ...]:
    return tuple(f"{what} for {age:.0f} s" for what, age in silent_for.items() if age >= at_least)
