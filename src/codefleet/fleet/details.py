"""Everything the fleet knows about one task."""

from collections.abc import Sequence

from codefleet.domain.model import Event, Message, Question, Run, Task, TaskId
from codefleet.domain.noun import Noun
from codefleet.domain.scheduling import Hold
from codefleet.domain.views import InboxItem
from codefleet.fleet import lineage, messages, questions
from codefleet.fleet.inbox import Inbox
from codefleet.fleet.tasks import Tasks
from codefleet.ports import TaskQuery

LAST_EVENTS = 10


class TaskDetails(Noun):
    """One task and what belongs to it.

    `hold` says why a pending task does not run. `needs` are the tasks that must complete first,
    `holds_up` those that wait for this one. `unread` are messages that no agent has received.
    """

    task: Task
    hold: Hold | None
    needs: Sequence[Task]
    holds_up: Sequence[Task]
    runs: Sequence[Run]
    inbox: Sequence[InboxItem]
    unread: Sequence[Message]
    questions: Sequence[Question]
    events: Sequence[Event]


class Details(Tasks, Inbox):
    async def details(self, ref: str) -> TaskDetails:
        """A task with its needs, runs, questions, messages, last events, and why it waits."""
        store, task = self.core.store, await self.core.get(ref)
        await self.permit_reading(task.id)
        clean = self.core.redaction.value
        unread = await messages.unread(store, task.id)
        return TaskDetails(
            task=task,
            hold=(await self.why([task])).get(task.id),
            needs=await lineage.needs(store, task),
            holds_up=await self._holds_up(task),
            runs=await store.runs(tasks=[task.id]),
            inbox=[item for item in await self._inbox() if item.task == task.id],
            unread=[message.evolve(text=clean(message.text)) for message in unread],
            questions=await questions.of_task(store, task.id),
            events=await store.events(task=task.id, limit=LAST_EVENTS, newest=True),
        )

    async def _holds_up(self, task: Task) -> Sequence[Task]:
        """Everything that cannot start before this task has completed, nearest first."""
        found: dict[TaskId, None] = {}
        ahead = [task.id]
        while ahead:
            for waiting in await self.core.store.needed_by(ahead.pop(0)):
                if waiting not in found:
                    found[waiting] = None
                    ahead.append(waiting)
        return await self.core.store.tasks(TaskQuery(ids=list(found))) if found else ()
