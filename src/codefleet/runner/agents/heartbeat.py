"""A finger on an agent's pulse: when its words, its processes and its files last moved."""

import time
from collections import deque
from pathlib import Path

from codefleet.domain.liveness import Patience, Pulse, is_busy, window
from codefleet.runner.custody import Kept

PULSE_S = 1.0
MEMORY_EVERY = 3  # a look at memory costs several times as much as the rest


class Heartbeat:
    """What moved when, by a clock that stands still while the machine sleeps."""

    def __init__(self, kept: Kept, worktree: Path, patience: Patience) -> None:
        self.kept, self.worktree = kept, worktree
        self.stopped = False
        now = time.monotonic()
        self._output = self._cpu = self._files = self._felt = now
        self._samples = deque([(now, 0.0)])
        self._window = window(patience)
        self._every = min(PULSE_S, patience.quiet)
        self._newest = 0.0
        self._spoke = False
        self._looks = 0

    def output(self) -> None:
        """The agent printed something that means something; bytes alone prove nothing."""
        self._output = time.monotonic()
        self._spoke = True

    def due(self) -> bool:
        """Is it time to feel again? A look at the processes and files costs more than a read."""
        now = time.monotonic()
        if now - self._felt < self._every:
            return False
        self._felt = now
        return True

    def memory_mb(self, known: int) -> int:
        """The most memory that was seen so far, where `known` was the most before."""
        self._looks += 1
        return known if self._looks % MEMORY_EVERY != 1 else max(known, self.kept.memory_mb())

    def read(self, tool_running: bool) -> Pulse:
        now = time.monotonic()
        if now - self._output < self._every:  # who talks lives: no need to look at its processes
            self._cpu = self._files = now
        else:
            self._look(now)
        return Pulse(
            output_age=now - self._output,
            cpu_age=now - self._cpu,
            files_age=now - self._files,
            tool_running=tool_running,
            first_turn=not self._spoke,
        )

    def _look(self, now: float) -> None:
        if self._works(now):
            self._cpu = now
        newest = _newest_change(self.worktree)
        if newest > self._newest:
            self._newest, self._files = newest, now

    def _works(self, now: float) -> bool:
        """Did its processes work in the last while, more than a program that only waits does?"""
        self._samples.append((now, self.kept.cpu_seconds()))
        while len(self._samples) > 2 and now - self._samples[1][0] >= self._window:
            self._samples.popleft()
        (then, before), (now, after) = self._samples[0], self._samples[-1]
        return is_busy(after - before, now - then)


def _newest_change(worktree: Path) -> float:
    """The latest change to the worktree's top folders and index: cheap, and enough for a pulse."""
    newest = 0.0
    for entry in (worktree, *worktree.iterdir()) if worktree.is_dir() else ():
        try:
            newest = max(newest, entry.lstat().st_mtime)
        except OSError:
            continue
    return newest
