"""The fleet at a glance, and its log."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

from codefleet.domain.model import Conflict, Event, Run, Task, TaskId
from codefleet.domain.views import Status, Waiting
from codefleet.domain.words import State
from codefleet.fleet.agents import Agents
from codefleet.fleet.core import UNFINISHED
from codefleet.fleet.inbox import Inbox
from codefleet.fleet.tasks import Tasks
from codefleet.ports import TaskQuery

SHOWN = 100
LOOK_BACK = timedelta(days=7)


class Overview(Tasks, Agents, Inbox):
    async def status(self) -> Status:
        """Agents, counts, what runs, what waits for what and why, conflicts, cost today."""
        now = await self.store.now()
        running = await self.store.tasks(TaskQuery(states=[State.RUNNING]))
        return Status(  # checked nouns already: to check them again takes time
            at=now,
            paused="paused" in await self.store.settings(),
            counts=dict(await self.store.counts()),
            agents=tuple(await self.agents()),
            running=tuple(running),
            runs=tuple(await self._live_runs(running)),
            waiting=tuple(await self._waiting()),
            landing=tuple(await self.store.tasks(TaskQuery(states=[State.REVIEW], limit=SHOWN))),
            inbox=tuple(await self.inbox()),
            conflicts=tuple(await self.open_conflicts()),
            rests=tuple(await self.rests()),
            spent_today=await self.spent_today(),
            unpriced_today=sum((await self.unpriced_today()).values()),
            limits=tuple(await self.day_limits()),
            standing_by=tuple(await self.standing_by()),
        )

    async def open_conflicts(self) -> Sequence[Conflict]:
        """Collisions between two tasks that are both still unfinished."""
        since = await self.store.now() - LOOK_BACK
        found = await self.store.conflicts(since=since)
        ids = sorted({task for conflict in found for task in conflict.tasks})
        tasks = await self.store.tasks(TaskQuery(ids=ids)) if ids else ()
        unfinished = {task.id for task in tasks if task.state in UNFINISHED}
        return [conflict for conflict in found if unfinished.issuperset(conflict.tasks)]

    async def events(
        self,
        *,
        after: int = 0,
        task: str | None = None,
        limit: int = 1000,
        newest: bool = False,
    ) -> Sequence[Event]:
        """The log, in the order things happened; with `newest`, its end."""
        only = (await self.get(task)).id if task else None
        return await self.store.events(after=after, task=only, limit=limit, newest=newest)

    async def follow(self, *, after: int = 0, task: str | None = None) -> AsyncIterator[Event]:
        """Every event after this one, and then each new one as it happens."""
        only = (await self.get(task)).id if task else None
        while True:
            latest = await self.store.last_seq()
            found = await self.store.events(after=after, task=only)
            for event in found:
                after = event.seq
                yield event
            if not found:
                await self.store.changed(latest, within=5.0)

    async def _live_runs(self, running: Sequence[Task]) -> Sequence[Run]:
        if not running:
            return ()
        return await self.store.runs(tasks=[task.id for task in running], live=True)

    async def _waiting(self) -> Sequence[Waiting]:
        pending = await self.store.tasks(TaskQuery(states=[State.PENDING], limit=SHOWN))
        why = await self.why(pending)
        return [
            Waiting(
                task=task,
                why=why[task.id].why,
                text=why[task.id].text,
                behind=tuple(TaskId(behind) for behind in why[task.id].behind),
            )
            for task in pending
        ]
