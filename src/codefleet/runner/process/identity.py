"""Processes identified reliably: never confused with a later one that has the same pid."""

import os
import signal
from contextlib import suppress
from typing import NamedTuple

from codefleet import platform


class Process(NamedTuple):
    """A unique process: pids are reused, but not with the same start time."""

    pid: int
    started: int

    @classmethod
    def find(cls, pid: int) -> "Process | None":
        """The process that has this pid now; None for a zombie."""
        started = platform.processes().started(pid)
        return None if started is None else cls(pid, started)

    @property
    def name(self) -> str:
        """The name of its program, if known."""
        return platform.processes().program(self.pid) or "a process"

    @property
    def is_alive(self) -> bool:
        return platform.processes().is_alive(*self)

    def send(self, what: signal.Signals) -> None:
        """Signal it, if it is still alive."""
        platform.processes().send(*self, what)

    async def ended(self) -> None:
        """Wait for its end, and reap it if it is a child of ours."""
        await platform.processes().ended(*self)
        reap(self.pid)

    def cpu_seconds(self) -> float:
        """Processor time so far of it and all its descendants; 0 if it is gone."""
        return sum(map(platform.processes().cpu_seconds, self._with_descendants()))

    def memory_mb(self) -> int:
        """Memory in use by it and all its descendants; 0 if it is gone."""
        return sum(map(platform.processes().memory_kb, self._with_descendants())) >> 10

    def _with_descendants(self) -> set[int]:
        if not self.is_alive:
            return set()
        return {self.pid, *platform.processes().descendants(self.pid)}


def reap(pid: int) -> None:
    """Reap an ended child, so that it does not remain a zombie."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
