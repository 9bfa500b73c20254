"""Tasks that agents created: they spend of what the tasks above them, and their workflow, may."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from codefleet.domain.errors import Refused
from codefleet.domain.model import Budget, Run, Task, TaskId, Usage
from codefleet.domain.views import Limit
from codefleet.fleet.core import Core
from codefleet.ports import TaskQuery

NEWEST = 2000
"""How far back one looks for relatives."""


class Shared(NamedTuple):
    """A budget that several tasks spend of."""

    name: str
    budget: Budget
    tasks: Sequence[TaskId]


class Families(Core):
    async def children_of(self, task: Task) -> Sequence[Task]:
        """The tasks that agents of this one created, the newest first."""
        newest = await self.store.tasks(TaskQuery(limit=NEWEST, newest_first=True))
        return [each for each in newest if each.parent == task.id]

    async def budgets_above(self, task: Task) -> Sequence[Shared]:
        """The budgets that this task spends of because an agent created it; none for a human's."""
        above = await self._above(task)
        if not above:
            return ()
        known = await self.store.tasks(TaskQuery(limit=NEWEST, newest_first=True))
        found = [
            Shared(f"the task {each.id}", each.budget, _with_descendants([each.id], known))
            for each in above
            if each.budget
        ]
        names = [each.stage.workflow for each in above if each.stage]
        for flow in await self.store.workflows(ids=names) if names else ():
            if flow.budget:
                family = _with_descendants(flow.tasks, known)
                found.append(Shared(f"the workflow {flow.id}", flow.budget, family))
        return found

    async def limits_of(self, shared: Iterable[Shared]) -> Sequence[Limit]:
        """How these budgets stand now."""
        limits = []
        for name, budget, tasks in shared:
            runs = await self.store.runs(tasks=tasks)
            spent = sum((run.usage for run in runs), start=Usage())
            limits.append(Limit(name=name, budget=budget, spent=spent))
        return limits

    async def parent_of(self, children: int, by: Run) -> TaskId:
        """The task of the agent that creates so many; refused where there may be no more."""
        task = await self.get(by.task)
        above = await self._above(task)
        if len(above) >= self.config.spawn_depth:
            raise Refused(
                f"{task.id} may not create tasks: it lies {len(above)} below a human's",
                hint=f"do the work yourself; spawn_depth is {self.config.spawn_depth}",
            )
        root = (task, *above)[-1]
        known = await self.store.tasks(TaskQuery(limit=NEWEST, newest_first=True))
        there = len(_with_descendants([root.id], known)) - 1
        if there + children > self.config.spawn_tasks:
            raise Refused(
                f"agents have created {there} tasks below {root.id}, and {children} are too many",
                hint=f"do the work yourself; spawn_tasks is {self.config.spawn_tasks}",
            )
        return task.id

    async def refuse_stranger(self, by: Run, task: TaskId) -> None:
        """An agent commands the tasks that it created, and those that they created; no others."""
        above = await self._above(await self.get(task))
        if by.task not in {each.id for each in above}:
            raise Refused(
                f"{task} is not a task that {by.task} created",
                hint="an agent may stop or retry its own tasks only; ask_human asks a human",
            )

    async def _above(self, task: Task) -> Sequence[Task]:
        found: list[Task] = []
        parent = task.parent
        while parent and (above := await self.store.tasks(TaskQuery(ids=[parent]))):
            found += above
            parent = above[0].parent
        return found


def _with_descendants(tasks: Iterable[TaskId], newest_first: Sequence[Task]) -> Sequence[TaskId]:
    """These tasks and all below them; whoever created a task is older than it."""
    family = dict.fromkeys(tasks)
    for each in reversed(newest_first):
        if each.parent in family:
            family[each.id] = None
    return tuple(family)
