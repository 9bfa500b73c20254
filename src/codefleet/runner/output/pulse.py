"""When an agent's output, processes and files were last active."""

import time
from collections import deque
from pathlib import Path

from codefleet.domain.liveness import Patience, Pulse, is_busy, window
from codefleet.runner.process.custody import AgentProcess

PULSE_S = 1.0
MEMORY_EVERY = 3  # measuring memory costs several times as much as the rest


class ActivityTracker:
    """Times of last activity, by a clock that stops while the machine sleeps."""

    def __init__(self, kept: AgentProcess, worktree: Path, patience: Patience) -> None:
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
        """Record meaningful output; bytes alone prove nothing."""
        self._output = time.monotonic()
        self._spoke = True

    def due(self) -> bool:
        """Is it time to check again? Checking processes and files costs more than a read."""
        now = time.monotonic()
        if now - self._felt < self._every:
            return False
        self._felt = now
        return True

    def memory_mb(self, known: int) -> int:
        """The peak memory so far, where `known` is the previous peak."""
        self._looks += 1
        return known if self._looks % MEMORY_EVERY != 1 else max(known, self.kept.memory_mb())

    def read(self, tool_running: bool) -> Pulse:
        now = time.monotonic()
        if now - self._output < self._every:  # output proves life: no need to check processes
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
        """Did its processes recently use more CPU than an idle program does?"""
        self._samples.append((now, self.kept.cpu_seconds()))
        while len(self._samples) > 2 and now - self._samples[1][0] >= self._window:
            self._samples.popleft()
        (then, before), (now, after) = self._samples[0], self._samples[-1]
        return is_busy(after - before, now - then)


def _newest_change(worktree: Path) -> float:
    """The latest change at the top level of the worktree: cheap, and enough as a sign of life."""
    newest = 0.0
    for entry in (worktree, *worktree.iterdir()) if worktree.is_dir() else ():
        try:
            newest = max(newest, entry.lstat().st_mtime)
        except OSError:
            continue
    return newest
