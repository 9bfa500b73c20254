"""Signals of life -> alive, quiet or stuck, with reasons. One silent signal proves nothing."""

from enum import StrEnum
from typing import NamedTuple


class Pulse(NamedTuple):
    """What was last seen of a running agent, in seconds ago."""

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


class Life(StrEnum):
    ALIVE = "alive"
    QUIET = "quiet"
    STUCK = "stuck"


class Verdict(NamedTuple):
    life: Life
    reasons: tuple[str, ...]


def judge(pulse: Pulse, patience: Patience) -> Verdict:
    """A run is stuck when nothing is printed and neither the processor nor a file moves."""
    limit = patience.tool if pulse.tool_running else patience.stuck
    limit = limit * 2 if pulse.first_turn else limit
    silent = _silent(pulse, limit)
    if len(silent) == 3:
        return Verdict(Life.STUCK, silent)
    quiet = _silent(pulse, patience.quiet)
    if "no output" in "".join(quiet):
        return Verdict(Life.QUIET, quiet)
    return Verdict(Life.ALIVE, ())


def _silent(pulse: Pulse, limit: float) -> tuple[str, ...]:
    ages = {"no output": pulse.output_age, "no CPU": pulse.cpu_age, "no file": pulse.files_age}
    return tuple(f"{what} for {age:.0f} s" for what, age in ages.items() if age >= limit)
