"""How many more agents may start, given this machine and what agents have needed so far."""

import time
from collections.abc import Collection, Sequence
from typing import Protocol

from codefleet.coder import Abilities
from codefleet.coders.registry import coder as coder_named
from codefleet.domain.admission import (
    RECENT_RUNS,
    Admitted,
    Machine,
    Newcomer,
    Working,
    admit,
    usual_need,
)
from codefleet.domain.errors import FleetError
from codefleet.domain.model import Run
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.runner.limits.machine import memory_left, processors

LEARN_EVERY_S = 60.0
ENDS = ("run.ended", "run.failed", "task.released")
LOOK_BACK = 5 * RECENT_RUNS


class AtWork(Protocol):
    """An agent at work, as far as admission is concerned."""

    @property
    def run(self) -> Run: ...

    @property
    def is_starting(self) -> bool: ...


class Admission:
    """The memory that agents need, learned from recent runs."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._recent: Sequence[Run] = ()
        self._learned_at: float | None = None

    async def seats(self, free: int, attempts: Collection[AtWork], default: str) -> Admitted:
        """How many of these free seats may be filled now."""
        await self._learn()
        ready = await self._fleet.list(TaskQuery(ready=True, limit=free))
        coders = [task.coder or default for task in ready]
        coders += [default] * (free - len(coders))  # the work of dead runners is not listed
        admitted = admit(
            [Newcomer(coder, self._need(coder)) for coder in coders],
            [
                Working(each.run.memory_mb, self._need(each.run.coder), each.is_starting)
                for each in attempts
            ],
            Machine(int(memory_left()) >> 20, processors()),
            self._fleet.config.memory_reserve_mb,
        )
        return admitted if ready else Admitted(admitted.seats)

    async def _learn(self) -> None:
        now = time.monotonic()
        if self._learned_at is None or now - self._learned_at > LEARN_EVERY_S:
            self._learned_at = now
            ends = await self._fleet.events(kinds=ENDS, limit=LOOK_BACK, newest=True)
            ids = {event.run for event in ends if event.run}
            self._recent = await self._fleet.find_runs(sorted(ids))

    def _need(self, coder: str) -> int:
        peaks = (run.memory_mb for run in reversed(self._recent) if run.coder == coder)
        return usual_need(peaks, _guess(coder))


def _guess(coder: str) -> int:
    try:
        return coder_named(coder).abilities.memory_mb
    except FleetError:  # a task may name one that is not installed; reported elsewhere
        return Abilities().memory_mb
