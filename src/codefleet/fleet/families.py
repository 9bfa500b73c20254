"""Tasks that agents created: they share the budgets of the tasks above them and their workflow."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from codefleet.domain import children
from codefleet.domain.errors import LostRun, Refused, Stale
from codefleet.domain.model import Budget, Draft, Run, Task, TaskId, Usage
from codefleet.domain.views import Limit
from codefleet.domain.words import Landing
from codefleet.fleet.core import TRIES, Core
from codefleet.ports import TaskQuery, Write


class Shared(NamedTuple):
    """A budget that several tasks share."""

    name: str
    budget: Budget
    tasks: Sequence[TaskId]


class Families(Core):
    async def children_of(self, task: Task) -> Sequence[Task]:
        """The tasks that agents of this one created, newest first."""
        return await self.store.tasks(TaskQuery(parents=[task.id], newest_first=True))

    async def budgets_above(self, task: Task) -> Sequence[Shared]:
        """The budgets that this task shares because an agent created it; none for a human's."""
        above = await self.above(task)
        if not above:
            return ()
        found = [
            Shared(f"the task {each.id}", each.budget, await self.with_descendants([each.id]))
            for each in above
            if each.budget
        ]
        names = [each.stage.workflow for each in above if each.stage]
        for flow in await self.store.workflows(ids=names) if names else ():
            if flow.budget:
                family = await self.with_descendants(flow.tasks)
                found.append(Shared(f"the workflow {flow.id}", flow.budget, family))
        return found

    async def spent_below(self, task: Task) -> Usage:
        """What the tasks that agents created below this one have used."""
        _, *below = await self.with_descendants([task.id])
        runs = await self.store.runs(tasks=below) if below else ()
        return sum((run.usage for run in runs), start=Usage())

    async def limits_of(self, shared: Iterable[Shared]) -> Sequence[Limit]:
        """What these budgets allow, and how much of them is spent."""
        limits = []
        for name, budget, tasks in shared:
            runs = await self.store.runs(tasks=tasks)
            spent = sum((run.usage for run in runs), start=Usage())
            limits.append(Limit(name=name, budget=budget, spent=spent))
        return limits

    async def children(self, drafts: Sequence[Draft], by: Run) -> Sequence[Draft]:
        """What an agent wants to add, within its limits."""
        parent = await self.get(by.task)
        settings = self.config.for_repo(parent.repo)
        limits = children.Limits(
            coders=(by.coder, *settings.spawn_coders),
            models=(by.model, parent.model, *settings.spawn_models),
            checks=(*parent.checks, *settings.checks),
            commands=settings.spawn_checks,
            routes=settings.route,
            attempts=settings.attempts,
            timeout_s=settings.timeout_s,
        )
        return [children.child(draft, parent, limits) for draft in drafts]

    async def add_children(self, step: Write, by: Run) -> None:
        """Write what an agent adds, unless its run is over or there would be too many.

        The step increments the version of the task at the top, so that the second of two who add at
        once has to count again.
        """
        for _ in range(TRIES):
            top = await self._room_for(len(step.tasks), by)
            counted = top.evolve(version=top.version + 1)
            held = {by.task: by.fence}
            try:
                await self.store.write(step._replace(tasks=[*step.tasks, counted], fences=held))
            except LostRun:
                raise
            except Stale:
                continue
            return
        raise Stale(f"too many agents add tasks below {by.task} at once", hint="try again")

    async def _room_for(self, new: int, by: Run) -> Task:
        """The human's task above all that this run adds; refused if there would be too many."""
        task = await self.get(by.task)
        above = await self.above(task)
        if len(above) >= self.config.spawn_depth:
            raise Refused(
                f"{task.id} may not create tasks: it is {len(above)} levels below a human's",
                hint=f"do the work yourself; spawn_depth is {self.config.spawn_depth}",
            )
        top = (task, *above)[-1]
        there = len(await self.with_descendants([top.id])) - 1
        if there + new > self.config.spawn_tasks:
            raise Refused(
                f"agents have created {there} tasks below {top.id}; {new} more are too many",
                hint=f"do the work yourself; spawn_tasks is {self.config.spawn_tasks}",
            )
        return top

    async def landing_of(self, task: Task, usual: Landing) -> Landing:
        """How the work of this task lands, if the repo's settings say `usual`.

        What an agent created lands under rules no looser than those of anything above it, and of
        the unlanded work of others that it builds on.
        """
        own = children.own_landing(task, usual)
        if task.parent is None:
            return own
        above = [children.own_landing(each, usual) for each in await self.above(task)]
        needed = await self.store.tasks(TaskQuery(ids=[TaskId(need) for need in task.needs]))
        built_on = [await self.landing_of(each, usual) for each in needed if not each.landed]
        return children.strictest((own, usual, *above, *built_on))

    async def permit_reading(self, task: TaskId) -> None:
        """Refuse an agent the output and changes of other agents.

        It may read its own task, what that needs, and the tasks below it.
        """
        if self.caller is None:
            return
        mine = await self.get((await self.asking()).task)
        above = await self.above(await self.get(task))
        if task not in (mine.id, *mine.needs) and mine.id not in {each.id for each in above}:
            raise Refused(
                f"{task} is not a task that {mine.id} needs or created",
                hint="an agent reads its own runs, those it needs, and those it created",
            )

    async def with_descendants(self, tasks: Iterable[TaskId]) -> Sequence[TaskId]:
        """These tasks and all that agents created below them, generation by generation."""
        family = dict.fromkeys(tasks)
        generation = list(family)
        while generation:
            children = await self.store.tasks(TaskQuery(parents=generation))
            generation = [each.id for each in children if each.id not in family]
            family |= dict.fromkeys(generation)
        return tuple(family)
