"""Questions that an agent asks humans while it runs, waiting for the answer in its turn."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from time import monotonic

from codefleet.domain.dialogue import LONGEST_OPTION, LONGEST_TEXT, MOST_OPTIONS
from codefleet.domain.errors import Invalid, LostRun, Stale
from codefleet.domain.events import event
from codefleet.domain.liveness import covered
from codefleet.domain.model import Question, QuestionId, Run, TaskId
from codefleet.domain.secrets import redact
from codefleet.domain.signals import Asks
from codefleet.domain.words import State
from codefleet.fleet.core import TRIES, Core
from codefleet.ports import TaskQuery, Write

LONGEST_LOOK_S = 5.0
WAITING = (State.PENDING, State.RUNNING, State.ASKING)
"""The states in which a task can still use an answer."""


class Asking(Core):
    async def open_questions(self) -> Sequence[Question]:
        """The unanswered questions, oldest first, except those of tasks that are over."""
        asked = await self.store.questions(open_only=True)
        ids = [question.task for question in asked]
        tasks = await self.store.tasks(TaskQuery(ids=ids, states=WAITING)) if ids else ()
        waiting = {task.id for task in tasks}
        return [question for question in asked if question.task in waiting]

    async def questions_of(self, task: TaskId) -> Sequence[Question]:
        """All questions of this task's agents, answered or not."""
        return await self.store.questions(tasks=[task])

    async def posed(self, run: Run) -> Sequence[Question]:
        """The questions that this run asked in its turn and that are not answered yet."""
        asked = await self.store.questions(tasks=[run.task], open_only=True)
        return [q for q in asked if q.run == run.id]

    async def pose(self, run: Run, asks: Asks) -> Question:
        """Put a question in the inbox while the run goes on; asked again, it is the same one."""
        _refuse_long(asks)
        asks = asks._replace(text=redact(asks.text))
        for _ in range(TRIES):
            if (await self.get(run.task)).fence != run.fence:
                raise LostRun(f"{run.id} no longer holds its task", hint="end your turn")
            now = await self.store.now()
            question = await self._question(run, asks, now)
            told = event("task.asked", now, asks.text, run=run, question=question.id)
            step = Write(questions=[question], events=[told], fences={run.task: run.fence})
            try:
                await self.store.write(step)
            except Stale:  # another question was asked at the same moment
                continue
            return question
        raise Stale(f"{run.id} asks too many questions at once", hint="ask one question at a time")

    async def answer_to(self, question: Question, within: float) -> AsyncIterator[Question]:
        """The question as it stands, every few seconds and as soon as it is answered.

        Ends with the answer, or when the time is over.
        """
        end = monotonic() + within
        found, left = question, within
        while found.answered_at is None and left > 0:
            found = await self._look(question, min(left, LONGEST_LOOK_S))
            yield found
            left = end - monotonic()

    async def waited(self, run: Run, longest: float) -> float:
        """The seconds that a run has spent waiting for humans, up to `longest` per question."""
        now, bound = await self.store.steady(), timedelta(seconds=longest)
        mine = [q for q in await self.questions_of(run.task) if q.run == run.id]
        return covered((start, min(end or now, start + bound)) for start, end in map(_span, mine))

    async def open_for(self, question: Question) -> float:
        """How many seconds a question has been waiting for its answer."""
        start, _ = _span(question)
        return (await self.store.steady() - start).total_seconds()

    async def _look(self, question: Question, within: float) -> Question:
        """The question once it is answered, or as it is after this many seconds."""
        end = monotonic() + within
        while True:
            seen = await self.store.last_seq()
            (found,) = await self.store.questions(ids=[question.id])
            left = end - monotonic()
            if found.answered_at or left <= 0:
                return found
            await self.store.changed(seen, within=left)

    async def _question(self, run: Run, asks: Asks, now: datetime) -> Question:
        """The open question with the same text, perhaps from an earlier run, or a new one."""
        known = await self.questions_of(run.task)
        steady = await self.store.steady()
        for old in known:
            if old.answered_at is None and old.text == asks.text:
                anew = {"run": run.id, "asked_at": now, "asked_steady": steady}
                return old.evolve(**anew, version=old.version + 1)
        number = 1 + sum(question.id.startswith(f"{run.id}.q") for question in known)
        return Question(
            id=QuestionId(f"{run.id}.q{number}"),
            task=run.task,
            run=run.id,
            text=asks.text,
            options=asks.options,
            asked_at=now,
            asked_steady=steady,
        )


def _span(question: Question) -> tuple[datetime, datetime | None]:
    """The time that it waited, by the steady clock; by the time of day if that was not recorded."""
    if question.asked_steady is None:
        return question.asked_at, question.answered_at
    return question.asked_steady, question.answered_steady


def _refuse_long(asks: Asks) -> None:
    if not asks.text:
        raise Invalid("a question needs a text", hint="say in a sentence what you need to know")
    if len(asks.text) > LONGEST_TEXT:
        raise Invalid(f"at most {LONGEST_TEXT} characters", hint="make it shorter")
    if len(asks.options) > MOST_OPTIONS or any(len(o) > LONGEST_OPTION for o in asks.options):
        raise Invalid(
            f"at most {MOST_OPTIONS} options of {LONGEST_OPTION} characters", hint="offer fewer"
        )
