"""Runs: claim, note, ask, submit, fail, release, land. Each write carries the run's fence."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from codefleet.config import Config
from codefleet.domain import lifecycle
from codefleet.domain.errors import Invalid, LostRun, Stale
from codefleet.domain.events import event
from codefleet.domain.lifecycle import Claim, Seat, Verb, move
from codefleet.domain.model import Event, Question, QuestionId, Run, RunId, RunnerId, Task, TaskId
from codefleet.domain.scheduling import Want
from codefleet.domain.secrets import redact
from codefleet.domain.signals import Asks
from codefleet.domain.words import Landing, Outcome, Reason, State
from codefleet.fleet.asking import Asking
from codefleet.fleet.capacity import caps_of
from codefleet.ports import TaskQuery, Write

LONGEST_REPORT = 2000


class Runs(Asking):
    async def claim(self, seats: Sequence[Seat], want: Want) -> Sequence[Claim]:
        """Give the most urgent tasks that may start to these seats, within the caps."""
        capped = want._replace(caps=caps_of(self.config))
        return await self.store.claim(seats, capped, lease=self.lease)

    async def next_start(self) -> datetime | None:
        """When something becomes claimable by time alone: the next end of a rest or lease."""
        return await self.store.next_start()

    async def runs_of(self, *tasks: TaskId) -> Sequence[Run]:
        """The runs of these tasks, first to last."""
        return await self.store.runs(tasks=tasks) if tasks else ()

    async def last_runs(self, tasks: Iterable[Task]) -> Mapping[TaskId, Run]:
        """The last run of each of these tasks that has one."""
        return {run.task: run for run in await self.runs_of(*(task.id for task in tasks))}

    async def live_runs(self) -> Sequence[Run]:
        """The live runs, on any machine."""
        return await self.store.runs(live=True)

    async def find_runs(self, ids: Sequence[RunId]) -> Sequence[Run]:
        """The runs with these ids that exist."""
        return await self.store.runs(ids=ids) if ids else ()

    async def adopt(self, run: Run, runner: RunnerId) -> Run:
        """Take over a live run whose runner is gone; that runner's writes are refused from now."""
        task = await self.get(run.task)
        now = await self.store.now()
        until = await self.store.steady() + self.lease
        taken = lifecycle.adopt(task, run, runner, now, until)
        await self.store.write(Write(tasks=[taken.task], runs=[taken.run], events=taken.events))
        return taken.run

    async def note(self, run: Run, events: Sequence[Event] = (), **changes: Any) -> Run:
        """Record what is new about a live run, and renew its lease."""
        until = await self.store.steady() + self.lease
        noted: Run = run.evolve(**changes, lease_until=until, version=run.version + 1)
        await self.store.write(Write(runs=[noted], events=events, fences={run.task: run.fence}))
        return noted

    async def report(self, run: Run, text: str) -> None:
        """Record an agent's own progress report."""
        words = text.strip()[:LONGEST_REPORT]
        if not words:
            raise Invalid("a report needs a text", hint="describe your progress in a line")
        now = await self.store.now()
        told = event("run.progress", now, redact(words), run=run)
        await self.store.write(Write(events=[told], fences={run.task: run.fence}))

    async def settle(self, run: Run, **chosen: str | None) -> Task:
        """Record on the task what its first run decided: branch, coder, model, route."""

        async def step(task: Task) -> Write:
            _holds(run, task)
            return Write(tasks=[task.evolve(**chosen, version=task.version + 1)])

        return await self.change(run.task, step)

    async def ask(self, run: Run, asks: Asks | None) -> Task:
        """Stop the run until a human has answered this, and what it asked in its turn.

        If nothing is left to answer, the task continues at once.
        """

        async def step(task: Task) -> Write:
            now = await self.store.now()
            ended = lifecycle.end(run, Outcome.ASKED, now)
            questions = [_question(run, asks, now, await self.store.steady())] if asks else []
            texts = [q.text for q in (*questions, *await self.posed(run))]
            if texts:
                after = self._moved(task, run, Verb.ASK, now, note=texts[0][:200])
            else:
                after = self._moved(task, run, Verb.RELEASE, now, note="a human has answered")
            told = [event("task.asked", now, q.text, run=run) for q in questions]
            if not texts:
                told = [event("task.released", now, after.note, run=run)]
            return Write(
                tasks=[after], runs=[ended], questions=questions, events=[*told, _over(ended, now)]
            )

        return await self.change(run.task, step)

    async def submit(self, run: Run, *, approved: bool, note: str = "") -> Task:
        """The work is on its branch with its evidence: hand it to the lane, or first to a human."""
        commit = run.made if approved else None
        return await self._finish(
            run, Verb.SUBMIT, "task.submitted", approved=approved, approved_commit=commit, note=note
        )

    async def complete(self, run: Run, note: str = "") -> Task:
        """Done without a landing: nothing had to change, or the branch is the result."""
        return await self._finish(run, Verb.COMPLETE, "task.completed", note=note)

    async def skip(self, run: Run, note: str) -> Task:
        """The stage's condition does not hold: done, without any work."""
        return await self._finish(
            run, Verb.COMPLETE, "task.completed", outcome=Outcome.SKIPPED, note=note
        )

    async def fail(self, run: Run, reason: Reason, note: str, settings: Config) -> Task:
        """Record a failed attempt; the task rests and is retried, or fails for good."""

        async def step(task: Task) -> Write:
            _holds(run, task)
            now = await self.store.now()
            ended = lifecycle.end(run, Outcome.FAILED, now, reason, note)
            after = lifecycle.fail(task, reason, note, now, self.attempts(settings))
            told = event("run.failed", now, note, run=run, reason=reason)
            lost = await self.fallout(after, now)
            return Write(
                tasks=[after, *lost.tasks],
                runs=[ended],
                events=[told, *_end_of(after, now), *lost.events],
            )

        return await self.change(run.task, step)

    async def release(
        self, run: Run, note: str, *, until: datetime | None = None, reason: Reason | None = None
    ) -> Task:
        """Give the task back without using up an attempt: a shutdown, a pause, a limit."""

        async def step(task: Task) -> Write:
            now = await self.store.now()
            ended = lifecycle.end(run, Outcome.RELEASED, now, reason, note)
            back = self._moved(
                task, run, Verb.RELEASE, now, note=note, reason=reason, not_before=until
            )
            told = event("task.released", now, note, run=run, reason=reason)
            return Write(tasks=[back], runs=[ended], events=[told])

        return await self.change(run.task, step)

    async def bury(self, run: Run, note: str) -> None:
        """End a run that no longer holds its task: it was cancelled, or the lease was lost.

        If it still holds its task, the task is released: a running task always has a live run. If
        it was considered dead, the attempt that this had used up is given back.
        """
        now = await self.store.now()
        current = (await self.store.runs(ids=[run.id]))[0]
        current = current.evolve(tip=run.tip or current.tip)
        task = await self.get(run.task)
        if current.is_live and task.state is State.RUNNING and task.fence == current.fence:
            await self.release(current, note)
        elif current.is_live:
            ended = lifecycle.end(current, Outcome.CANCELLED, now, Reason.CANCELLED, note)
            await self.store.write(Write(runs=[ended], events=[_over(ended, now)]))
        elif current.note == lifecycle.WENT_AWAY and not task.state.is_final:
            await self._forgive(current, note)

    async def _forgive(self, run: Run, note: str) -> None:
        """Its runner was frozen, asleep or cut off, and is back: the task is not to blame."""

        async def step(task: Task) -> Write:
            left = max(0, task.attempts - 1)
            return Write(
                tasks=[task.evolve(attempts=left, version=task.version + 1)],
                runs=[run.evolve(note=note, version=run.version + 1)],
            )

        await self.change(run.task, step)

    async def landable(self) -> Sequence[Task]:
        """The tasks that may land on a trunk, most urgent first."""
        waiting = await self.store.tasks(TaskQuery(states=[State.REVIEW]))
        return [task for task in waiting if task.approved and not task.paused]

    async def begin_landing(self, seen: Task) -> Task | None:
        """Take the last look before the trunk moves: None if someone changed the task since.

        From here until `landed` or `end_landing`, nobody can cancel, reject or pause it.
        """
        return await self._unless_changed(seen.evolve(landing=True))

    async def end_landing(self, seen: Task) -> Task | None:
        """Undo `begin_landing`, because the trunk did not move after all."""
        return await self._unless_changed(seen.evolve(landing=False))

    async def landed(self, task_id: TaskId, commit: str) -> Task:
        """Record that the work is on the trunk; what waited for it may start."""

        async def step(task: Task) -> Write:
            now = await self.store.now()
            told = {"landed": commit, "landing": False, "note": "", "reason": None}
            done = move(task, Verb.LAND, **told, updated_at=now)
            events = [event("task.completed", now, task.title, task=task, landed=commit)]
            return Write(tasks=[done], events=events)

        return await self.change(task_id, step)

    async def bounce(self, seen: Task, reason: Reason, note: str, settings: Config) -> Task | None:
        """Send work that could not land back to an agent, with the reason."""
        now = await self.store.now()
        after = lifecycle.fail(seen, reason, note, now, self.attempts(settings))
        told = event("task.bounced", now, note, task=seen, reason=reason)
        lost = await self.fallout(after, now)
        return await self._unless_changed(
            after.evolve(approved=False, approved_commit=None, version=seen.version),
            [told, *_end_of(after, now), *lost.events],
            lost.tasks,
        )

    async def send_to_review(self, seen: Task, why: str) -> None:
        """Work that should have landed automatically may not: from now on it waits for a human."""
        now = await self.store.now()
        undone = {"approved": False, "approved_commit": None, "lands": Landing.REVIEW}
        held = seen.evolve(**undone, note=why, updated_at=now)
        await self._unless_changed(held, [event("task.unapproved", now, why, task=seen)])

    async def waits(self, seen: Task, why: str) -> None:
        """Record why a landing waits, unless the reason is still the same."""
        if seen.note != why:
            now = await self.store.now()
            told = event("task.waits", now, why, task=seen)
            await self._unless_changed(seen.evolve(note=why), [told])

    async def unapprove(self, seen: Task, why: str) -> None:
        """Withdraw the approval of work that has changed since: a human has to look again."""
        now = await self.store.now()
        back = seen.evolve(approved=False, approved_commit=None, note=why, updated_at=now)
        await self._unless_changed(back, [event("task.unapproved", now, why, task=seen)])

    async def warn(self, run: Run, text: str) -> None:
        """Warn people about a run, even if it has ended."""
        now = await self.store.now()
        await self.store.write(Write(events=[event("run.warned", now, text, run=run)]))

    async def _unless_changed(
        self, task: Task, events: Sequence[Event] = (), others: Sequence[Task] = ()
    ) -> Task | None:
        """Write the task with the next version; None if someone else was first."""
        changed = task.evolve(version=task.version + 1)
        try:
            await self.store.write(Write(tasks=[changed, *others], events=events))
        except Stale:
            return None
        return changed

    async def _finish(
        self,
        run: Run,
        verb: Verb,
        kind: str,
        *,
        outcome: Outcome = Outcome.SUBMITTED,
        **changes: Any,
    ) -> Task:
        async def step(task: Task) -> Write:
            now = await self.store.now()
            ended = lifecycle.end(run, outcome, now)
            after = self._moved(task, run, verb, now, **{"reason": None, "note": "", **changes})
            events = [event(kind, now, after.note or task.title, run=run), _over(ended, now)]
            return Write(tasks=[after], runs=[ended], events=events)

        return await self.change(run.task, step)

    def _moved(self, task: Task, run: Run, verb: Verb, now: datetime, **changes: Any) -> Task:
        _holds(run, task)
        return move(task, verb, fence=task.fence + 1, updated_at=now, **changes)


def _holds(run: Run, task: Task) -> None:
    if task.fence != run.fence:
        raise LostRun(
            f"{run.id} no longer holds {task.id}: it is {task.state} under fence {task.fence}",
            hint="its work is archived; there is nothing to do",
        )


def _question(run: Run, asks: Asks, now: datetime, steady: datetime) -> Question:
    return Question(
        id=QuestionId(f"{run.id}.q"),
        task=run.task,
        run=run.id,
        text=asks.text,
        options=asks.options,
        tool=asks.tool,
        detail=asks.detail,
        asked_at=now,
        asked_steady=steady,
    )


def _end_of(task: Task, now: datetime) -> Sequence[Event]:
    """The event for the end of a task after a failure, if it has ended."""
    if task.state is State.FAILED:
        return [event("task.failed", now, task.note, task=task, reason=task.reason)]
    if task.state is State.COMPLETED:
        note = f"failed, but its workflow continues: {task.note}"
        return [event("task.completed", now, note, task=task, reason=task.reason)]
    return []


def _over(run: Run, now: datetime) -> Event:
    return event("run.ended", now, run.note, run=run, outcome=run.outcome, reason=run.reason)
