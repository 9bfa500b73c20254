"""The store as the agent of a run sees it: its team's, without what is between others."""

from collections.abc import Sequence
from typing import Any

from codefleet.domain.listener import Listener
from codefleet.domain.model import Event, RunId, Task
from codefleet.fleet import lineage
from codefleet.fleet.team_store import TeamStore
from codefleet.ports import NO_TEAM, Store, TaskQuery

PAGE = 1000
"""How many events are looked through at once, if the first look did not find enough."""


class AgentStore(TeamStore):
    """Implements `codefleet.ports.Store` for the agent of a run.

    If its task has no team, it sees only what has none; an unknown run has no task at all.
    """

    def __init__(self, whole: Store, run: RunId) -> None:
        super().__init__(whole, self._own_team)
        self._run = run
        self._found: str | None = None

    async def events(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 1000,
        newest: bool = False,
        **asked: Any,
    ) -> Sequence[Event]:
        listener = await self._listener()
        found: list[Event] = []
        many = limit
        while len(found) < limit:
            page = await super().events(
                after=after, before=before, limit=many, newest=newest, **asked
            )
            heard = [event for event in page if listener.hears(event)]
            found = [*heard, *found] if newest else [*found, *heard]
            if len(page) < many:
                break
            after, before = (after, page[0].seq) if newest else (page[-1].seq, before)
            many = max(limit, PAGE)
        return found[max(0, len(found) - limit) :] if newest else found[:limit]

    async def shown(self, events: Sequence[Event]) -> Sequence[Event]:
        listener = await self._listener()
        return [event for event in await super().shown(events) if listener.hears(event)]

    async def _listener(self) -> Listener:
        task = await self._task()
        handle = (task.handle or task.id) if task else ""
        return Listener(await lineage.related(self, self._run), handle)

    async def _own_team(self) -> str:
        """The team of the run's task. It is read once: that of a running task cannot change."""
        if self._found is None:
            task = await self._task()
            self._found = (task.team if task else None) or NO_TEAM
        return self._found

    async def _task(self) -> Task | None:
        runs = await self._whole.runs(ids=[self._run])
        tasks = await self._whole.tasks(TaskQuery(ids=[run.task for run in runs]))
        return next(iter(tasks), None)
