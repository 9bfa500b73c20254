"""What only the agent of a run does, in its own run: ask humans, report, read what it builds on."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from time import monotonic

from codefleet.domain.dialogue import LONGEST_OPTION, LONGEST_TEXT, MOST_OPTIONS
from codefleet.domain.errors import Invalid, LostRun, Refused, Stale
from codefleet.domain.events import event
from codefleet.domain.model import Question, QuestionId, Run, Task
from codefleet.domain.signals import Asks
from codefleet.fleet import Fleet, lineage, questions
from codefleet.fleet.core import TRIES
from codefleet.ports import TaskQuery, Write

LONGEST_LOOK_S = 5.0
LONGEST_REPORT = 2000


class OwnRun:
    """The run whose agent is the fleet's actor. Each write carries the run's fence."""

    def __init__(self, fleet: Fleet) -> None:
        self.core = fleet.core

    async def run(self) -> Run:
        """The run; refused to everybody who is not the agent of a live run."""
        run = await self.core.asking()
        if run is None:
            raise Refused(
                "this is for the agent of a run, and you are not one",
                hint="agents of the fleet get these tools automatically",
            )
        return run

    async def related(self) -> Sequence[Task]:
        """The tasks that its task needs, and those that its agents created, newest first."""
        mine = await self.core.get((await self.run()).task)
        created = TaskQuery(parents=[mine.id], newest_first=True)
        return [*await lineage.needs(self.core.store, mine), *await self.core.store.tasks(created)]

    async def report(self, text: str) -> None:
        """Record the agent's own progress report."""
        run = await self.run()
        words = self.core.redaction.start(text.strip(), LONGEST_REPORT)
        if not words:
            raise Invalid("a report needs a text", hint="describe your progress in a line")
        now = await self.core.store.now()
        told = event("run.progress", now, words, run=run)
        await self.core.write(Write(events=[told], fences={run.task: run.fence}))

    async def pose(self, asks: Asks) -> Question:
        """Put a question in the inbox while the run goes on; asked again, it is the same one."""
        run = await self.run()
        _refuse_long(asks)
        asks = asks._replace(text=self.core.redaction.value(asks.text))  # as it is stored
        for _ in range(TRIES):
            if (await self.core.get(run.task)).fence != run.fence:
                raise LostRun(f"{run.id} no longer holds its task", hint="end your turn")
            now = await self.core.store.now()
            question = await self._question(run, asks, now)
            told = event("task.asked", now, asks.text, run=run, question=question.id)
            step = Write(records=[question], events=[told], fences={run.task: run.fence})
            try:
                await self.core.write(step)
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

    async def _look(self, question: Question, within: float) -> Question:
        """The question once it is answered, or as it is after this many seconds."""
        end = monotonic() + within
        while True:
            seen = await self.core.store.last_seq()
            (found,) = await self.core.store.records(Question, ids=[question.id])
            left = end - monotonic()
            if found.answered_at or left <= 0:
                return found
            await self.core.store.changed(seen, within=left)

    async def _question(self, run: Run, asks: Asks, now: datetime) -> Question:
        """The open question with the same text, perhaps from an earlier run, or a new one."""
        known = await questions.of_task(self.core.store, run.task)
        steady = await self.core.store.steady()
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


def _refuse_long(asks: Asks) -> None:
    if not asks.text:
        raise Invalid("a question needs a text", hint="say in a sentence what you need to know")
    if len(asks.text) > LONGEST_TEXT:
        raise Invalid(f"at most {LONGEST_TEXT} characters", hint="make it shorter")
    if len(asks.options) > MOST_OPTIONS or any(len(o) > LONGEST_OPTION for o in asks.options):
        raise Invalid(
            f"at most {MOST_OPTIONS} options of {LONGEST_OPTION} characters", hint="offer fewer"
        )
