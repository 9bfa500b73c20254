"""What this machine, or the container we are in, has left for more agents."""

import os
from pathlib import Path
from typing import NamedTuple

CGROUP = Path("/sys/fs/cgroup")


class GroupLimit(NamedTuple):
    """The files of a control group with a limit, its usage, and the part that can be reclaimed."""

    most: str
    used: str
    spare: tuple[str, str] | None = None


MEMORY = (
    GroupLimit("memory.max", "memory.current", ("memory.stat", "inactive_file")),
    GroupLimit(
        "memory/memory.limit_in_bytes",
        "memory/memory.usage_in_bytes",
        ("memory/memory.stat", "total_inactive_file"),
    ),
)
PROCESSES = (
    GroupLimit("pids.max", "pids.current"),
    GroupLimit("pids/pids.max", "pids/pids.current"),
)


def memory_left(root: Path = CGROUP) -> float:
    """Bytes of memory that new processes may take."""
    import psutil  # imported here: it is slow, and only a runner needs it

    return min([psutil.virtual_memory().available, *(_left(root, each) for each in MEMORY)])


def load() -> float:
    """The load average of the last minute, per processor."""
    return round(os.getloadavg()[0] / len(os.sched_getaffinity(0)), 2)


def processes_left(root: Path = CGROUP) -> float:
    """How many more processes and threads our control group allows."""
    return min(_left(root, each) for each in PROCESSES)


def _left(root: Path, limit: GroupLimit) -> float:
    try:
        most, used = (root / limit.most).read_text().strip(), (root / limit.used).read_text()
        spare = _number(root / limit.spare[0], limit.spare[1]) if limit.spare else 0
    except OSError:
        return float("inf")
    return int(most) - int(used) + spare if most.isdecimal() else float("inf")


def _number(file: Path, name: str) -> int:
    numbers = dict(line.split() for line in file.read_text().splitlines())
    return int(numbers.get(name, 0))
