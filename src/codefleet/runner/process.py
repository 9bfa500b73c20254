"""Processes identified reliably: never confused with a later one that has the same pid."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from codefleet.runner.keeper import descendants

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@cache
def machine() -> str:
    """The scope of a pid: one boot of a machine, or a container; empty if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


class Process(NamedTuple):
    """A unique process: pids are reused, but not with the same start time."""

    pid: int
    started: int

    @classmethod
    def find(cls, pid: int) -> "Process | None":
        """The process that has this pid now; None for a zombie."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        state, *fields = stat.rpartition(")")[2].split()
        return None if state in "ZX" else cls(pid, int(fields[18]))

    @property
    def name(self) -> str:
        """The name of its program, if known."""
        with suppress(OSError):
            return Path(f"/proc/{self.pid}/comm").read_text().strip()
        return "a process"

    @property
    def is_alive(self) -> bool:
        return Process.find(self.pid) == self

    def send(self, what: signal.Signals) -> None:
        """Signal it, if it is still alive."""
        with suppress(ProcessLookupError), self.descriptor() as fd:
            signal.pidfd_send_signal(fd, what)

    async def ended(self) -> None:
        """Wait for its end, and reap it if it is a child of ours."""
        with suppress(ProcessLookupError), self.descriptor() as fd:
            await readable(fd)
        reap(self.pid)

    def cpu_seconds(self) -> float:
        """Processor time so far of it and all its descendants; 0 if it is gone."""
        if not self.is_alive:
            return 0.0
        return sum(map(_cpu_seconds, (self.pid, *descendants(self.pid))))

    def memory_mb(self) -> int:
        """Memory in use by it and all its descendants; shared pages count once."""
        if not self.is_alive:
            return 0
        return sum(map(_memory, (self.pid, *descendants(self.pid)))) >> 10

    @contextmanager
    def descriptor(self) -> Iterator[int]:
        """A pidfd for it; raises ProcessLookupError if it is gone."""
        fd = os.pidfd_open(self.pid)
        try:
            if not self.is_alive:
                raise ProcessLookupError(self.pid)
            yield fd
        finally:
            os.close(fd)


def reap(pid: int) -> None:
    """Reap an ended child, so that it does not remain a zombie."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


async def readable(fd: int) -> None:
    """Wait until something can be read; for a process's descriptor, until it has ended."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)


def _cpu_seconds(pid: int) -> float:
    """Processor time of one process and its children that were waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS_PER_S


def _memory(pid: int) -> int:
    """Memory of one process in KB, with its share of shared pages."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it has ended, or belongs to another user
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line[:4] == "Pss:"), 0)
