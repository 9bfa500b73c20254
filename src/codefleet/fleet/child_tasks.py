"""Tasks that agents created: they share the budgets of the tasks above them and their workflow."""

from collections.abc import Sequence

from codefleet.domain import access, child_tasks
from codefleet.domain.access import Right
from codefleet.domain.errors import Forbidden, LostRun, Refused, Stale
from codefleet.domain.model import Draft, Run, Task, TaskId
from codefleet.fleet import lineage, output
from codefleet.fleet.core import TRIES
from codefleet.fleet.verbs import Verbs
from codefleet.ports import Write


class Families(Verbs):
    async def _children(self, drafts: Sequence[Draft], by: Run) -> Sequence[Draft]:
        """What an agent wants to add, within its limits."""
        parent = await self.core.get(by.task)
        settings = self.core.config.for_repo(parent.repo)
        limits = child_tasks.Limits(
            coders=(by.coder, *settings.spawn_coders),
            models=(by.model, parent.model, *settings.spawn_models),
            checks=(*parent.checks, *settings.checks),
            commands=settings.spawn_checks,
            routes=settings.route,
            attempts=settings.attempts,
            timeout_s=settings.timeout_s,
        )
        return [child_tasks.child(draft, parent, limits) for draft in drafts]

    async def _add_children(self, step: Write, by: Run) -> None:
        """Write what an agent adds, unless its run is over or there would be too many.

        The step increments the version of the task at the top, so that the second of two who add at
        once has to count again.
        """
        for _ in range(TRIES):
            top = await self._room_for(len(step.tasks), by)
            counted = top.evolve(version=top.version + 1)
            held = {by.task: by.fence}
            both = step._replace(tasks=[*step.tasks, counted], fences=held)
            try:
                await self.core.write(both, verbatim=top.note)
            except LostRun:
                raise
            except Stale:
                continue
            return
        raise Stale(f"too many agents add tasks below {by.task} at once", hint="try again")

    async def _room_for(self, new: int, by: Run) -> Task:
        """The human's task above all that this run adds; refused if there would be too many."""
        task = await self.core.get(by.task)
        above = await lineage.above(self.core.store, task)
        if len(above) >= self.core.config.spawn_depth:
            raise Refused(
                f"{task.id} may not create tasks: it is {len(above)} levels below a human's",
                hint=f"do the work yourself; spawn_depth is {self.core.config.spawn_depth}",
            )
        top = (task, *above)[-1]
        there = len(await lineage.descendants(self.core.store, [top.id])) - 1
        if there + new > self.core.config.spawn_tasks:
            raise Refused(
                f"agents have created {there} tasks below {top.id}; {new} more are too many",
                hint=f"do the work yourself; spawn_tasks is {self.core.config.spawn_tasks}",
            )
        return top

    async def permit_reading(self, task: TaskId) -> None:
        """Raise `Forbidden` if the actor may not read the output and changes of this task."""
        run, found = await self.core.asking(), await self.core.get(task)
        if found.id in await output.readable(self.core, [found.id]):
            return
        access.refuse(self.core.actor, Right.READ_OUTPUT)
        mine = run.task if run else ""
        raise Forbidden(
            f"{task} is not a task that {mine} needs or created",
            hint="an agent reads its own runs, those it needs, and those it created",
        )
