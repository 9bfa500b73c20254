"""What a runner works on: the whole queue, or one workflow and the tasks that its agents create."""

from collections.abc import Sequence

from codefleet.domain.model import Run, Task, TaskId
from codefleet.domain.scheduling import Hold, Why
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.runner import peers
from codefleet.runner.context import Context
from codefleet.runner.limits import rate_limits
from codefleet.runner.waiting import nothing_left_to_do


class Workload:
    """The tasks that a runner claims, adopts and lands."""

    def __init__(self, context: Context, workflow: str | None = None) -> None:
        self.context, self.fleet, self.workflow = context, context.fleet, workflow
        self.dispatch = context.dispatch

    async def tasks(self) -> tuple[TaskId, ...]:
        """The ids to choose from; empty means any."""
        return await self.fleet.family_of(self.workflow) if self.workflow else ()

    async def in_lane(self) -> Sequence[Task]:
        found = await self.dispatch.in_lane()
        among = await self.tasks() if found else ()
        return [task for task in found if not among or task.id in among]

    async def orphans(self) -> Sequence[Run]:
        found = await peers.orphans(self.fleet)
        among = await self.tasks() if found else ()
        return [run for run in found if not among or run.task in among]

    async def nothing_left_to_do(self, coder: str) -> bool:
        """Is there nothing left to do without a human, apart from what no seat can take?"""
        among = await self.tasks()
        if not among:
            return await nothing_left_to_do(self.context, coder)
        if await rate_limits.has_waiting_task(self.context, coder, among):
            return False
        return not await progressing_tasks(self.fleet, among, seated=False)


async def progressing_tasks(
    fleet: Fleet, among: Sequence[TaskId], *, seated: bool
) -> Sequence[Task]:
    """The tasks that make progress without a human; ready ones do if somebody is `seated`."""
    tasks = await fleet.list(TaskQuery(ids=among))
    holds = await fleet.why(tasks)
    running = {task.id for task in await fleet.list(TaskQuery(states=[State.RUNNING]))}
    passes = {Why.TIME, *((Why.SEAT, Why.ACCOUNT) if seated else ())}
    passes |= {Why.MACHINE} if running else set()

    def starts(hold: Hold) -> bool:
        is_near = hold.why is Why.SCOPE and not running.isdisjoint(hold.behind)
        return hold.why in passes or is_near

    return [
        task
        for task in tasks
        if task.id in running
        or (task.state is State.REVIEW and (task.is_landing or _moves_in_lane(task)))
        or (task.id in holds and starts(holds[task.id]))
    ]


def _moves_in_lane(task: Task) -> bool:
    return task.approved and not task.paused and not task.note
