"""The fleet at a glance."""

from collections.abc import Mapping, Sequence

from codefleet.domain.model import Run, Task, TaskId
from codefleet.domain.views import Status, Waiting
from codefleet.domain.words import State
from codefleet.fleet.agents import Agents
from codefleet.fleet.conflicts import Conflicts
from codefleet.fleet.inbox import Inbox
from codefleet.fleet.tasks import Tasks
from codefleet.ports import TaskQuery

SHOWN = 100


class Overview(Tasks, Agents, Inbox, Conflicts):
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

    async def counts(self) -> Mapping[str, int]:
        """Tasks by state, with pending ones that wait for a need counted as `blocked`."""
        return await self.store.counts()

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
