"""Waiting for tasks: until nothing more happens to them on its own."""

from collections.abc import AsyncIterator, Sequence
from time import monotonic

from codefleet.domain.model import Task, TaskId, Workflow
from codefleet.domain.noun import Noun
from codefleet.domain.words import State
from codefleet.fleet import questions
from codefleet.fleet.verbs import Verbs
from codefleet.ports import TaskQuery

LONGEST_LOOK_S = 5.0
SETTLED = (State.COMPLETED, State.FAILED, State.CANCELLED, State.ASKING)


class Watched(Noun):
    """Tasks at a moment, and whether each of them has ended or waits for a human."""

    tasks: Sequence[Task]
    settled: bool


class Watching(Verbs):
    async def watch(self, refs: Sequence[str], within: float) -> AsyncIterator[Watched]:
        """Tasks, or all those of a workflow: as they are now, at every change, every few seconds.

        Ends when each of them has ended or waits for a human, or when the time is over.
        """
        end = monotonic() + within
        tasks = [task for ref in refs for task in await self._tasks_of(ref)]
        while True:
            seen = await self.core.store.last_seq()
            found = await self.core.store.tasks(TaskQuery(ids=tasks))
            settled = await self._settled(found)
            yield Watched(tasks=found, settled=settled)
            left = end - monotonic()
            if left <= 0 or settled:
                return
            await self.core.store.changed(seen, within=min(left, LONGEST_LOOK_S))

    async def _tasks_of(self, ref: str) -> Sequence[TaskId]:
        """The id of this task or, for the id of a workflow, of all its tasks."""
        for flow in await self.core.store.records(Workflow, ids=[ref]):
            return flow.tasks
        return [(await self.core.get(ref)).id]

    async def _settled(self, tasks: Sequence[Task]) -> bool:
        """Has each of these ended, or does it wait for a human?"""
        asking = {question.task for question in await questions.still_open(self.core.store)}
        return all(task.id in asking or _is_settled(task) for task in tasks)


def _is_settled(task: Task) -> bool:
    return task.state in SETTLED or (task.state is State.REVIEW and not task.approved)
