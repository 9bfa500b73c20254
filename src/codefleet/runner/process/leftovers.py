"""Finding and ending the processes that a run or a command left behind, however they hide.

What a run starts carries a mark in its environment, the variable `FLEET_RUN`, which `env -i` drops.
On Linux it carries another one, which no child can lose: a resource limit that limits nothing, the
CPU time of real-time processes, set to thousands of years, as a number computed from the name of
the run.
"""

from collections.abc import Sequence
from pathlib import Path

from codefleet import platform
from codefleet.callers import IN_A_FOLDER, LOWEST_MARK, TAG, mark_of
from codefleet.runner.process.identity import Process

UNLIMITED = -1
HIGHEST, LOWEST = 62, LOWEST_MARK.bit_length() - 1
"""Exponents of two, in microseconds: 146,000 years, and one year."""
ROUNDS = 20


def tag_of(folder: Path) -> str:
    """The tag of commands in a folder that do not belong to a run."""
    return f"{IN_A_FOLDER}{folder.resolve()}"


def mark(tag: str, below: int = UNLIMITED) -> int | None:
    """The limit that marks what belongs to this tag; None if no room is left `below`.

    An agent that starts a fleet of its own is already marked: its fleet's marks are lower.
    """
    exponent = HIGHEST if below == UNLIMITED else below.bit_length() - 1
    return mark_of(tag, exponent - 1) if exponent > LOWEST else None


def put_mark(pid: int, tag: str) -> None:
    """Mark a process that has just been started."""
    marks = platform.marks()
    if (number := mark(tag, marks.of(pid))) is not None:
        marks.put(pid, number)


def kill_tagged(*tags: str) -> int:
    """Kill every process that belongs to these tags; returns how many there were."""
    wanted = [*filter(None, tags)]
    found: set[Process] = set()
    for _ in range(ROUNDS):  # catches what forks while it is being killed
        pids = [pid for pid in platform.processes().pids() if _belongs(pid, wanted)]
        tagged = set(filter(None, map(Process.find, pids)))
        if not tagged:
            break
        found |= tagged
        platform.processes().kill(tagged)
    return len(found)


def living_in(folder: Path) -> list[Process]:
    """Processes that work in a folder: as their working directory, or with a file open there."""
    whole = str(folder.resolve())
    pids = (pid for pid in platform.processes().pids() if _is_in(pid, whole))
    return [*filter(None, map(Process.find, pids))]


def _belongs(pid: int, tags: Sequence[str]) -> bool:
    number = platform.marks().of(pid)
    exponent = number.bit_length() - 1
    if exponent >= LOWEST and any(number == mark_of(tag, exponent) for tag in tags):
        return True
    return not set(tags).isdisjoint(platform.processes().variables(pid, TAG))


def _is_in(pid: int, folder: str) -> bool:
    below = f"{folder}/"
    places = platform.processes().places(pid)
    return any(place == folder or place.startswith(below) for place in places)
