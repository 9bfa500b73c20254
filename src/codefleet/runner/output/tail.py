"""Following the output of agents on one schedule, so that all reads share one commit."""

import asyncio
import time
from collections.abc import Iterator

from codefleet.runner.process.custody import AgentProcess

QUICKEST_S = 0.02
SLOWEST_S = 0.25
REST_TO_WORK = 3.0
LOOK_S, LINE_S = 0.0002, 0.001
"""What a look at an agent and a line of its output take at most."""
MOST_AT_ONCE = 1 << 18


class ReadSchedule:
    """The moments at which the listeners of one runner read.

    The pause before each turn is proportional to the work of reading since the last one, so that a
    few agents are read without delay, and many busy ones cost no more than a share of one core.
    Most of what a runner does is not reading: of its time, only as much counts as the lines that it
    read can have taken.
    """

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []
        self._rest_s = QUICKEST_S
        self._worked_s = time.process_time()
        self._read_s = 0.0

    def count(self, lines: int) -> None:
        """Note that so many lines were read."""
        self._read_s += lines * LINE_S

    def next(self) -> asyncio.Future[None]:
        """The next turn to read; a listener may end its wait earlier."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_later(self._rest_s, self._wake_readers)
        self._read_s += LOOK_S
        turn = loop.create_future()
        self._waiting.append(turn)
        return turn

    def _wake_readers(self) -> None:
        worked_s = time.process_time()
        reading_s = min(worked_s - self._worked_s, self._read_s)
        self._rest_s = min(max(QUICKEST_S, REST_TO_WORK * reading_s), SLOWEST_S)
        self._worked_s, self._read_s = worked_s, 0.0
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


class Tail:
    """The output of one agent, from where the last reader stopped."""

    def __init__(self, kept: AgentProcess, at: int) -> None:
        self.at = at
        self._kept = kept
        self._nothing_new_at: int | None = None

    def earlier(self) -> Iterator[str]:
        """The lines that an earlier reader has read already."""
        at = 0
        while at < self.at:
            lines, after = self._kept.lines(at, limit_bytes=self.at - at)
            yield from lines
            if after == at:
                return
            at = after

    def read(self, *, final: bool = False) -> list[str] | None:
        """The lines that have arrived since; None if there are none, which is cheap to find out."""
        size = self._kept.size()
        if size == self._nothing_new_at and not final:
            return None
        lines, at = self._kept.lines(self.at, MOST_AT_ONCE, final=final)
        if at == self.at:
            self._nothing_new_at = size
            return None
        self.at = at
        return lines
