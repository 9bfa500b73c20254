"""Messages and questions of a run, and the token that its agent speaks with."""

from collections.abc import Sequence
from datetime import timedelta

from codefleet.domain.errors import Stale
from codefleet.domain.events import event
from codefleet.domain.liveness import covered
from codefleet.domain.model import Message, Question, Run, RunId, Task, TaskId
from codefleet.fleet import messages, questions
from codefleet.fleet.dispatch.part import DispatchPart
from codefleet.fleet.tokens import token_of
from codefleet.ports import Write


class Talk(DispatchPart):
    async def messages_for(self, run: Run) -> Sequence[Message]:
        """The messages for this run: to its handle, on its task or, if on none, to its seat."""
        said = await self.core.store.records(Message, open_only=True)
        task = await self.core.get(run.task) if said else None
        return [message for message in said if task and message.is_for(run, task)]

    async def messages_on(self, task: Task) -> Sequence[Message]:
        """The messages that agents received while they worked on this task."""
        said = await self.core.store.records(Message)
        return [message for message in said if message.task == task.id and message.delivered_at]

    async def unread(self, task: TaskId | None = None) -> Sequence[Message]:
        """The messages, of all or on this task, that no agent has received."""
        return await messages.unread(self.core.store, task)

    async def delivered(self, message: Message, run: Run) -> None:
        """Record that the agent of this run has received the message."""
        now = await self.core.store.now()
        got = message.evolve(
            run=run.id, task=run.task, delivered_at=now, version=message.version + 1
        )
        told = event("message.delivered", now, message.text, run=run, message=message.id)
        try:
            await self.core.write(Write(records=[got], events=[told]))
        except Stale:
            return  # already recorded

    async def open_questions(self) -> Sequence[Question]:
        """The unanswered questions, oldest first, except those of tasks that are over."""
        return await questions.still_open(self.core.store)

    async def questions_of(self, task: TaskId) -> Sequence[Question]:
        """All questions of this task's agents, answered or not."""
        return await questions.of_task(self.core.store, task)

    async def waited(self, run: Run, longest: float) -> float:
        """The seconds that a run has spent waiting for humans, up to `longest` per question."""
        now, bound = await self.core.store.steady(), timedelta(seconds=longest)
        mine = [q for q in await self.questions_of(run.task) if q.run == run.id]
        return covered(
            (start, min(end or now, start + bound)) for start, end in map(questions.span, mine)
        )

    async def open_for(self, question: Question) -> float:
        """How many seconds a question has been waiting for its answer."""
        start, _ = questions.span(question)
        return (await self.core.store.steady() - start).total_seconds()

    async def posed(self, run: Run) -> Sequence[Question]:
        """The questions that this run asked in its turn and that are not answered yet."""
        asked = await self.core.store.records(Question, tasks=[run.task], open_only=True)
        return [q for q in asked if q.run == run.id]

    def token(self, run: RunId) -> str:
        """The proof that someone acts for this run."""
        return token_of(run, self.core.home)
