"""This machine, through psutil and `sysctl`."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import psutil

WEAKER: Sequence[str] = (
    "a process that leaves its agent's session and loses its parent is found only after the run",
    "a process that also clears its environment is not found",
    "memory and processor time of an agent are estimates, and its container's limits are unknown",
    "ended processes and new events are noticed by polling, a few times a second",
)


@cache
def boot() -> str:
    if sys.platform == "darwin":  # the time of the boot changes there when the clock is set
        argv = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
    return f"{psutil.boot_time():.0f}"


def pid_scope() -> str:
    return boot()


def watch(file: Path) -> int | None:
    return None


def cpus() -> int:
    return os.cpu_count() or 1


def memory_left() -> float:
    return psutil.virtual_memory().available


def processes_left() -> float:
    most, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if most == resource.RLIM_INFINITY:
        return float("inf")
    me = os.getuid()
    return most - sum(1 for each in psutil.process_iter(["uids"]) if _user(each) == me)


def _user(process: psutil.Process) -> int | None:
    uids = process.info["uids"]
    return uids.real if uids else None
