"""Runs: which there are, the last ones of tasks, and when they were last alive."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from codefleet.domain.model import Run, RunId, Task, TaskId
from codefleet.domain.noun import Noun
from codefleet.fleet import output
from codefleet.fleet.verbs import Verbs
from codefleet.ports import Period


class Heartbeats(Noun):
    """When runs were last known to be alive, seen from a moment."""

    at: datetime
    last: Mapping[RunId, datetime]


class Runs(Verbs):
    async def runs_of(self, *tasks: TaskId) -> Sequence[Run]:
        """The runs of these tasks, first to last; without output that the actor may not read."""
        found = await self.core.store.runs(tasks=tasks) if tasks else ()
        return await output.shown_runs(self.core, found)

    async def last_runs(self, tasks: Iterable[Task]) -> Mapping[TaskId, Run]:
        """The last run of each of these tasks that has one."""
        return {run.task: run for run in await self.runs_of(*(task.id for task in tasks))}

    async def find_runs(self, ids: Sequence[RunId]) -> Sequence[Run]:
        """The runs with these ids that exist; without output that the actor may not read."""
        found = await self.core.store.runs(ids=ids) if ids else ()
        return await output.shown_runs(self.core, found)

    async def runs_during(self, since: datetime, until: datetime) -> Sequence[Run]:
        """The runs that were at work in this period, in the order in which they started.

        They come without output that the actor may not read.
        """
        found = await self.core.store.runs(during=Period(since, until))
        return await output.shown_runs(self.core, found)

    async def heartbeats(self, runs: Iterable[Run]) -> Heartbeats:
        """When each of these runs was last known to be alive: its end, or its last heartbeat."""
        now, steady = await self.core.store.now(), await self.core.store.steady()
        ahead = steady + self.core.lease  # a heartbeat extends the lease from its own time
        last = {run.id: run.ended_at or now - (ahead - run.lease_until) for run in runs}
        return Heartbeats(at=now, last=last)
