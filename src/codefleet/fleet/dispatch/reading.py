"""What a runner reads to decide what to do: times, runners, live runs."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from codefleet.domain.memory_search import fitting
from codefleet.domain.model import Memory, Run, RunId, Runner, Task
from codefleet.fleet import agents, lineage
from codefleet.fleet.dispatch.part import DispatchPart

READ = 2000
"""How many characters of a prompt decide which memories fit it."""


class Reading(DispatchPart):
    @property
    def lease(self) -> timedelta:
        """How long a run or a runner may be silent."""
        return self.core.lease

    async def steady(self) -> datetime:
        """The time for leases and heartbeats; it never jumps on one machine."""
        return await self.core.store.steady()

    async def about_store(self) -> str:
        """The store and its location, for people; contains no secret."""
        return await self.core.store.about()

    async def known_runners(self) -> Sequence[Runner]:
        """The runners that have joined and not left, alive or not."""
        return await self.core.store.records(Runner)

    async def live_runners(self) -> Sequence[Runner]:
        """The runners with a heartbeat within their lease, with or without seats."""
        return await agents.live_runners(self.core)

    async def needs_of(self, task: Task) -> Sequence[Task]:
        """The tasks that a task needs."""
        return await lineage.needs(self.core.store, task)

    async def memories_for(self, task: Task) -> Sequence[Memory]:
        """What agents of its team learnt in its repo that fits this task."""
        known = await self.core.store.records(Memory, of=[task.repo])
        mine = [memory for memory in known if memory.team == task.team]
        return fitting(f"{task.title} {task.prompt[:READ]}", mine)

    async def run(self, name: RunId) -> Run | None:
        """The run with this id and all of its output, for what the actor may do with it."""
        return next(iter(await self.core.store.runs(ids=[name])), None)

    async def live_runs(self) -> Sequence[Run]:
        """The live runs, on any machine."""
        return await self.core.store.runs(live=True)
