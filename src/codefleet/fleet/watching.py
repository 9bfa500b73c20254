"""Waiting for tasks: until nothing more happens to them on its own."""

from collections.abc import AsyncIterator, Sequence
from time import monotonic

from codefleet.domain.model import Task, TaskId
from codefleet.domain.words import State
from codefleet.fleet.asking import Asking
from codefleet.ports import TaskQuery

LONGEST_LOOK_S = 5.0
SETTLED = (State.COMPLETED, State.FAILED, State.CANCELLED, State.ASKING)


class Watching(Asking):
    async def watch(self, tasks: Sequence[TaskId], within: float) -> AsyncIterator[Sequence[Task]]:
        """The tasks as they are: now, at every change, and at least every few seconds.

        Ends when each of them has ended or waits for a human, or when the time is over.
        """
        end = monotonic() + within
        while True:
            seen = await self.store.last_seq()
            found = await self.store.tasks(TaskQuery(ids=tasks))
            yield found
            left = end - monotonic()
            if left <= 0 or await self.settled(found):
                return
            await self.store.changed(seen, within=min(left, LONGEST_LOOK_S))

    async def settled(self, tasks: Sequence[Task]) -> bool:
        """Has each of these ended, or does it wait for a human?"""
        asking = {question.task for question in await self.open_questions()}
        return all(task.id in asking or _is_settled(task) for task in tasks)


def _is_settled(task: Task) -> bool:
    return task.state in SETTLED or (task.state is State.REVIEW and not task.approved)
