"""The fleet at a glance."""

from collections import Counter
from collections.abc import Mapping, Sequence

from codefleet.domain import access
from codefleet.domain.access import Right
from codefleet.domain.model import Repo, Run, Task, TaskId
from codefleet.domain.scheduling import Hold, Why
from codefleet.domain.views import ALERT, Left, Status, Waiting, shown_state
from codefleet.domain.words import UNFINISHED, State
from codefleet.fleet import output, spending
from codefleet.fleet.agents import Agents, live_runners, unreachable
from codefleet.fleet.conflicts import Conflicts
from codefleet.fleet.inbox import Inbox
from codefleet.fleet.tasks import Tasks
from codefleet.ports import TaskQuery

SHOWN = 100
STUCK = (Why.HELD_UP, Why.ACCOUNT, Why.MACHINE)


class Overview(Tasks, Agents, Inbox, Conflicts):
    async def status(self) -> Status:
        """The fleet at a glance: agents, counts, what runs, what waits and why, today's cost."""
        access.refuse(self.core.actor, Right.READ_STATUS)
        now = await self.core.store.now()
        running = await self.core.store.tasks(TaskQuery(states=[State.RUNNING]))
        in_review = await self.core.store.tasks(TaskQuery(states=[State.REVIEW]))
        crew = await self._crew()
        return Status(  # not checked again, which would take time
            at=now,
            paused="paused" in await self.core.store.settings(),
            repos=len(await self.core.store.records(Repo)),
            counts=_told_apart(await self.core.store.counts(), in_review),
            agents=tuple(crew.seats),
            running=tuple(running),
            runs=tuple(await self._live_runs(running)),
            waiting=tuple(await self._waiting()),
            in_review=tuple(in_review[:SHOWN]),
            inbox=tuple(await self._inbox()),
            conflicts=tuple(await self.open_conflicts()),
            rests=tuple(await self.rests()),
            spent_today=await spending.spent_today(self.core),
            unpriced_today=sum((await spending.unpriced_today(self.core)).values()),
            limits=tuple(await spending.day_limits(self.core)),
            standing_by=tuple(crew.standing_by),
            away=tuple(unreachable(await live_runners(self.core))),
        )

    async def left(self, among: Sequence[TaskId] | None = None) -> Sequence[Left]:
        """The unfinished tasks that do not run, of the whole fleet or of these, and why each waits.

        Those that only wait for another of them are left out.
        """
        access.refuse(self.core.actor, Right.READ_STATUS)
        tasks = await self.core.store.tasks(TaskQuery(ids=among, states=UNFINISHED))
        holds = await self.why(tasks)
        items = {item.task: item for item in await self._inbox() if item.kind != ALERT}
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
        return await self.core.store.counts()

    async def _live_runs(self, running: Sequence[Task]) -> Sequence[Run]:
        if not running:
            return ()
        live = await self.core.store.runs(tasks=[task.id for task in running], live=True)
        return await output.shown_runs(self.core, live)

    async def _waiting(self) -> Sequence[Waiting]:
        pending = await self.core.store.tasks(TaskQuery(states=[State.PENDING], limit=SHOWN))
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


def _told_apart(counts: Mapping[str, int], in_review: Sequence[Task]) -> dict[str, int]:
    """Counts by state, with `review` split into waiting for a human, in the lane, and held."""
    others = {state: many for state, many in counts.items() if state != State.REVIEW}
    return {**others, **Counter(map(shown_state, in_review))}
