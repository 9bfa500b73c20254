"""The fleet at a glance."""

from collections import Counter
from collections.abc import Mapping, Sequence

from codefleet.domain.model import Run, Task, TaskId
from codefleet.domain.scheduling import Hold, Why
from codefleet.domain.views import Left, Status, Waiting, shown_state
from codefleet.domain.words import UNFINISHED, State
from codefleet.fleet.agents import Agents
from codefleet.fleet.conflicts import Conflicts
from codefleet.fleet.inbox import Inbox
from codefleet.fleet.tasks import Tasks
from codefleet.ports import TaskQuery

SHOWN = 100
STUCK = (Why.HELD_UP, Why.ACCOUNT, Why.MACHINE)


class Overview(Tasks, Agents, Inbox, Conflicts):
    async def status(self) -> Status:
        """Agents, counts, what runs, what waits and why, conflicts, today's cost."""
        now = await self.store.now()
        running = await self.store.tasks(TaskQuery(states=[State.RUNNING]))
        delivered = await self.store.tasks(TaskQuery(states=[State.REVIEW]))
        return Status(  # not checked again, which would take time
            at=now,
            paused="paused" in await self.store.settings(),
            repos=len(await self.store.repos()),
            counts=_told_apart(await self.store.counts(), delivered),
            agents=tuple(await self.agents()),
            running=tuple(running),
            runs=tuple(await self._live_runs(running)),
            waiting=tuple(await self._waiting()),
            landing=tuple(delivered[:SHOWN]),
            inbox=tuple(await self.inbox()),
            conflicts=tuple(await self.open_conflicts()),
            rests=tuple(await self.rests()),
            spent_today=await self.spent_today(),
            unpriced_today=sum((await self.unpriced_today()).values()),
            limits=tuple(await self.day_limits()),
            standing_by=tuple(await self.standing_by()),
            away=tuple(await self.away()),
        )

    async def left(self, among: Sequence[TaskId] | None = None) -> Sequence[Left]:
        """The unfinished tasks that do not run, of all or of these, and why each waits.

        Those that only wait for another of them are left out.
        """
        tasks = await self.store.tasks(TaskQuery(ids=among, states=UNFINISHED))
        holds = await self.why(tasks)
        items = {item.task: item for item in await self.inbox()}
        still = [task for task in tasks if task.state is not State.RUNNING]
        return [
            Left(
                task=task,
                text=_waits_for(task, holds),
                item=items.get(task.id),
                needs_human=task.id in items or _is_stuck(task, holds.get(task.id)),
            )
            for task in still
            if task.id not in holds or holds[task.id].why is not Why.NEEDS
        ]

    async def counts(self) -> Mapping[str, int]:
        """Tasks by state; pending ones that wait for a need count as `blocked`."""
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


def _is_stuck(task: Task, hold: Hold | None) -> bool:
    """Does it wait for something that neither time nor an idle runner will end?"""
    return hold is not None and (hold.why in STUCK or _came_back(task, hold))


def _came_back(task: Task, hold: Hold) -> bool:
    """Could it start, although a run has given it back? Its note says why."""
    return hold.why is Why.SEAT and bool(task.note)


def _waits_for(task: Task, holds: Mapping[TaskId, Hold]) -> str:
    if task.id in holds and _came_back(task, holds[task.id]):
        return task.note
    if task.id in holds:
        return holds[task.id].text
    if task.state is State.REVIEW:
        waits = "waits to land" if task.approved else "waits for your review"
        return f"{waits}: {task.note}" if task.note else waits
    return task.note


def _told_apart(counts: Mapping[str, int], delivered: Sequence[Task]) -> dict[str, int]:
    """Counts by state, with `review` split into waiting for a human, landing, and held."""
    others = {state: many for state, many in counts.items() if state != State.REVIEW}
    return {**others, **Counter(map(shown_state, delivered))}
