"""All processes as `ps` shows them: the one view of them that POSIX defines.

It is used for identity even where psutil is at hand, because a keeper has no psutil, and because
the start of a process must be the same number whoever asks, even after the clock was set.
"""

import subprocess
import sys
from calendar import timegm
from collections.abc import Iterator, Sequence
from typing import NamedTuple

ASKED = ("-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "stat=", "-o", "lstart=")
"""One by one: in a list, BSD takes what follows the first `=` for the title of the column."""
WITH_ENVIRONMENT = (
    "-ww",
    "-E" if sys.platform == "darwin" else "e",
    "-o",
    "pid=",
    "-o",
    "command=",
)
PLAIN = {"PATH": "/bin:/usr/bin:/usr/local/bin", "LC_ALL": "C", "TZ": "UTC0"}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WAIT_S = 30.0
UNSURE_S = 2
"""Where `ps` computes a start from the time since boot, it may be off by a second."""


class Row(NamedTuple):
    pid: int
    parent: int
    group: int
    is_zombie: bool
    started: int

    def is_same(self, started: int) -> bool:
        """Is it still the process that started then? A pid is not reused within seconds."""
        return abs(self.started - started) <= UNSURE_S


def everything() -> dict[int, Row]:
    """All processes, by pid."""
    return {row.pid: row for row in _rows("-A")}


def one(pid: int) -> Row | None:
    """The process that has this pid now; None if there is none, or only a zombie."""
    found = next(_rows("-p", str(pid)), None)
    return None if found is None or found.is_zombie else found


def marked(variable: str) -> set[int]:
    """The processes with this variable, written `NAME=value`, in their environment."""
    found = (line.split() for line in _lines("-A", *WITH_ENVIRONMENT))
    # A value with a line end in it begins a line without a pid.
    return {int(words[0]) for words in found if variable in words and words[0].isdecimal()}


def _rows(*which: str) -> Iterator[Row]:
    for line in _lines(*which, *ASKED):
        pid, parent, group, state, *start = line.split()
        yield Row(int(pid), int(parent), int(group), state[0] in "ZX", _seconds(start))


def _lines(*options: str) -> Sequence[str]:
    done = subprocess.run(
        ["ps", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=PLAIN,
        timeout=WAIT_S,
        check=False,
    )
    return done.stdout.decode(errors="replace").split("\n")[:-1]


def _seconds(start: Sequence[str]) -> int:
    """`Tue Nov 17 11:52:57 2026` as seconds since the epoch; 0 if it is not told of a zombie."""
    if len(start) != 5:
        return 0
    _, month, day, clock, year = start
    hour, minute, second = map(int, clock.split(":"))
    return timegm((int(year), MONTHS.index(month) + 1, int(day), hour, minute, second))
