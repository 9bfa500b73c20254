"""This machine or container, through /proc, inotify and control groups."""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

WEAKER: Sequence[str] = ()
IN_ACCESS = 0x00000001
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


@cache
def boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


@cache
def pid_scope() -> str:
    try:
        return f"{boot()} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def watch(file: Path) -> int | None:
    import ctypes  # imported here, because only waiting needs it

    libc = ctypes.CDLL(None, use_errno=True)
    watch: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if watch < 0:  # the user's watches are used up
        return None
    if libc.inotify_add_watch(watch, os.fsencode(file), IN_ACCESS) < 0:
        os.close(watch)
        return None
    return watch


def cpus() -> int:
    return len(os.sched_getaffinity(0))


def memory_left(root: Path = CGROUP) -> float:
    import psutil  # imported here: it is slow, and only a runner needs it

    return min([psutil.virtual_memory().available, *(_left(root, each) for each in MEMORY)])


def processes_left(root: Path = CGROUP) -> float:
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
