"""Landing: what may go onto a trunk, and what became of it."""

from collections.abc import Sequence

from codefleet.config import Config
from codefleet.domain import retries
from codefleet.domain.errors import Stale
from codefleet.domain.events import event
from codefleet.domain.landing_modes import own_mode, strictest
from codefleet.domain.lifecycle import Verb, move
from codefleet.domain.model import Event, Task, TaskId
from codefleet.domain.words import LandingMode, Reason, State
from codefleet.fleet import lineage
from codefleet.fleet.dispatch.ending import end_of, retry_policy
from codefleet.fleet.dispatch.part import DispatchPart
from codefleet.ports import TaskQuery, Write


class Landing(DispatchPart):
    async def in_lane(self) -> Sequence[Task]:
        """The approved tasks that may land on a trunk, most urgent first."""
        waiting = await self.core.store.tasks(TaskQuery(states=[State.REVIEW]))
        return [task for task in waiting if task.approved and not task.paused]

    async def begin_landing(self, seen: Task) -> Task | None:
        """Take the last look before the trunk moves: None if someone changed the task since.

        From here until `landed` or `end_landing`, nobody can cancel, reject or pause it.
        """
        return await self._unless_changed(seen.evolve(is_landing=True))

    async def end_landing(self, seen: Task) -> Task | None:
        """Undo `begin_landing`, because the trunk did not move after all."""
        return await self._unless_changed(seen.evolve(is_landing=False))

    async def landed(self, task_id: TaskId, commit: str) -> Task:
        """Record that the work is on the trunk; what waited for it may start."""

        async def step(task: Task) -> Write:
            now = await self.core.store.now()
            told = {"landed": commit, "is_landing": False, "note": "", "reason": None}
            done = move(task, Verb.LAND, **told, updated_at=now)
            events = [event("task.completed", now, task.title, task=task, landed=commit)]
            return Write(tasks=[done], events=events)

        return await self.core.change(task_id, step)

    async def send_back(
        self, seen: Task, reason: Reason, note: str, settings: Config
    ) -> Task | None:
        """Send work that could not land back to an agent, with the reason."""
        now = await self.core.store.now()
        after = retries.fail(seen, reason, note, now, retry_policy(settings))
        told = event("task.bounced", now, note, task=seen, reason=reason)
        lost = await self.core.fallout(after, now)
        return await self._unless_changed(
            after.evolve(approved=False, approved_commit=None, version=seen.version),
            [told, *end_of(after, now), *lost.events],
            lost.tasks,
        )

    async def send_to_review(self, seen: Task, why: str) -> None:
        """Work that should have landed automatically may not: from now on it waits for a human."""
        now = await self.core.store.now()
        undone = {"approved": False, "approved_commit": None, "lands": LandingMode.REVIEW}
        held = seen.evolve(**undone, note=why, updated_at=now)
        await self._unless_changed(held, [event("task.unapproved", now, why, task=seen)])

    async def record_landing_wait(self, seen: Task, why: str) -> None:
        """Record what holds work in the lane, unless that is still the same."""
        why = self.core.redaction.value(why)
        if seen.note != why:
            now = await self.core.store.now()
            told = event("task.waits", now, why, task=seen)
            await self._unless_changed(seen.evolve(note=why), [told])

    async def unapprove(self, seen: Task, why: str) -> None:
        """Withdraw the approval of work that has changed since: a human has to look again."""
        now = await self.core.store.now()
        back = seen.evolve(approved=False, approved_commit=None, note=why, updated_at=now)
        await self._unless_changed(back, [event("task.unapproved", now, why, task=seen)])

    async def _unless_changed(
        self, task: Task, events: Sequence[Event] = (), others: Sequence[Task] = ()
    ) -> Task | None:
        """Write the task with the next version; None if someone else was first."""
        changed = task.evolve(version=task.version + 1)
        try:
            stored = await self.core.write(Write(tasks=[changed, *others], events=events))
        except Stale:
            return None
        return stored.tasks[0]

    async def above(self, task: Task) -> Sequence[Task]:
        """The tasks whose agents created this one, nearest first; none for a human's task."""
        return await lineage.above(self.core.store, task)

    async def landing_mode_of(self, task: Task, usual: LandingMode) -> LandingMode:
        """How the work of this task lands, if the repo's settings say `usual`.

        What an agent created lands under rules no looser than those of anything above it, and of
        the unlanded work of others that it builds on.
        """
        own = own_mode(task, usual)
        if task.parent is None:
            return own
        above = [own_mode(each, usual) for each in await lineage.above(self.core.store, task)]
        needed = await lineage.needs(self.core.store, task)
        built_on = [await self.landing_mode_of(each, usual) for each in needed if not each.landed]
        return strictest((own, usual, *above, *built_on))
