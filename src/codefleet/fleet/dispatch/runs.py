"""Runs: claim, note, ask, submit, fail, release. Each write carries the run's fence."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from codefleet.config import Config
from codefleet.domain import lifecycle, retries
from codefleet.domain.errors import LostRun
from codefleet.domain.events import event
from codefleet.domain.lifecycle import Claim, Seat, Verb, move
from codefleet.domain.model import Event, Question, QuestionId, Run, RunnerId, Task
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.signals import Asks
from codefleet.domain.words import Outcome, Reason, State
from codefleet.fleet.capacity import caps_of
from codefleet.fleet.dispatch.ending import end_of, retry_policy
from codefleet.fleet.dispatch.messages import Talk
from codefleet.ports import Write

LONGEST_NOTE = 200


class Runs(Talk):
    async def claim(self, seats: Sequence[Seat], want: ClaimFilter) -> Sequence[Claim]:
        """Give the most urgent tasks that may start to these seats, within the caps."""
        capped = want._replace(caps=caps_of(self.core.config))
        return await self.core.store.claim(seats, capped, lease=self.core.lease)

    async def next_start(self) -> datetime | None:
        """When something becomes claimable by time alone: the next end of a rest or lease."""
        return await self.core.store.next_start()

    async def adopt(self, run: Run, runner: RunnerId) -> Run:
        """Take over a live run whose runner is gone; that runner's writes are refused from now."""
        task = await self.core.get(run.task)
        now = await self.core.store.now()
        until = await self.core.store.steady() + self.core.lease
        taken = lifecycle.adopt(task, run, runner, now, until)
        step = Write(tasks=[taken.task], runs=[taken.run], events=taken.events)
        await self.core.write(step, verbatim=task.note)
        return taken.run

    async def note(self, run: Run, events: Sequence[Event] = (), **changes: Any) -> Run:
        """Record what is new about a live run, and renew its lease."""
        until = await self.core.store.steady() + self.core.lease
        noted: Run = run.evolve(**changes, lease_until=until, version=run.version + 1)
        step = Write(runs=[noted], events=events, fences={run.task: run.fence})
        return (await self.core.write(step)).runs[0]

    async def record_choices(self, run: Run, **chosen: str | None) -> Task:
        """Record on the task what its first run decided: branch, coder, model, route."""

        async def step(task: Task) -> Write:
            _holds(run, task)
            return Write(tasks=[task.evolve(**chosen, version=task.version + 1)])

        return await self.core.change(run.task, step)

    async def ask(self, run: Run, asks: Asks | None) -> Task:
        """Stop the run until a human has answered this, and what it asked in its turn.

        If nothing is left to answer, the task continues at once.
        """

        async def step(task: Task) -> Write:
            now = await self.core.store.now()
            ended = lifecycle.end(run, Outcome.ASKED, now)
            questions = [_question(run, asks, now, await self.core.store.steady())] if asks else []
            texts = [q.text for q in (*questions, *await self.posed(run))]
            if texts:
                note = self.core.redaction.start(texts[0], LONGEST_NOTE)
                after = self._moved(task, run, Verb.ASK, now, note=note)
            else:
                after = self._moved(task, run, Verb.RELEASE, now, note="a human has answered")
            told = [event("task.asked", now, q.text, run=run) for q in questions]
            if not texts:
                told = [event("task.released", now, after.note, run=run)]
            return Write(
                tasks=[after], runs=[ended], records=questions, events=[*told, _over(ended, now)]
            )

        return await self.core.change(run.task, step)

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
            now = await self.core.store.now()
            ended = lifecycle.end(run, Outcome.FAILED, now, reason, note)
            after = retries.fail(task, reason, note, now, retry_policy(settings))
            told = event("run.failed", now, note, run=run, reason=reason)
            lost = await self.core.fallout(after, now)
            return Write(
                tasks=[after, *lost.tasks],
                runs=[ended],
                events=[told, *end_of(after, now), *lost.events],
            )

        return await self.core.change(run.task, step)

    async def release(
        self, run: Run, note: str, *, until: datetime | None = None, reason: Reason | None = None
    ) -> Task:
        """Give the task back without using up an attempt: a shutdown, a pause, a limit."""

        async def step(task: Task) -> Write:
            now = await self.core.store.now()
            ended = lifecycle.end(run, Outcome.RELEASED, now, reason, note)
            back = self._moved(
                task, run, Verb.RELEASE, now, note=note, reason=reason, not_before=until
            )
            told = event("task.released", now, note, run=run, reason=reason)
            return Write(tasks=[back], runs=[ended], events=[told])

        return await self.core.change(run.task, step)

    async def end_lost_run(self, run: Run, note: str) -> None:
        """End a run that no longer holds its task: it was cancelled, or the lease was lost.

        If it still holds its task, the task is released: a running task always has a live run. If
        it was considered dead, the attempt that this had used up is given back.
        """
        now = await self.core.store.now()
        current = (await self.core.store.runs(ids=[run.id]))[0]
        current = current.evolve(tip=run.tip or current.tip)
        task = await self.core.get(run.task)
        if current.is_live and task.state is State.RUNNING and task.fence == current.fence:
            await self.release(current, note)
        elif current.is_live:
            ended = lifecycle.end(current, Outcome.CANCELLED, now, Reason.CANCELLED, note)
            await self.core.write(Write(runs=[ended], events=[_over(ended, now)]))
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

        await self.core.change(run.task, step)

    async def warn(self, run: Run, text: str) -> None:
        """Warn people about a run, even if it has ended."""
        now = await self.core.store.now()
        await self.core.write(Write(events=[event("run.warned", now, text, run=run)]))

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
            now = await self.core.store.now()
            ended = lifecycle.end(run, outcome, now)
            after = self._moved(task, run, verb, now, **{"reason": None, "note": "", **changes})
            events = [event(kind, now, after.note or task.title, run=run), _over(ended, now)]
            return Write(tasks=[after], runs=[ended], events=events)

        return await self.core.change(run.task, step)

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


def _over(run: Run, now: datetime) -> Event:
    return event("run.ended", now, run.note, run=run, outcome=run.outcome, reason=run.reason)
