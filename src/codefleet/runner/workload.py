"""What a runner works on: the whole queue, or one workflow and the tasks that its agents create."""

from collections.abc import Sequence

from codefleet.domain.model import Run, Task, TaskId
from codefleet.domain.scheduling import Hold, Why
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.runner import departed
from codefleet.runner.bounds import rests
from codefleet.runner.desk import Desk
from codefleet.runner.waiting import is_over


class Workload:
    """The tasks that a runner claims, adopts and lands."""

    def __init__(self, desk: Desk, workflow: str | None = None) -> None:
        self.desk, self.fleet, self.workflow = desk, desk.fleet, workflow

    async def tasks(self) -> tuple[TaskId, ...]:
        """The ids to choose from; empty means any."""
        return await self.fleet.family_of(self.workflow) if self.workflow else ()

    async def landable(self) -> Sequence[Task]:
        found = await self.fleet.landable()
        among = await self.tasks() if found else ()
        return [task for task in found if not among or task.id in among]

    async def orphans(self) -> Sequence[Run]:
        found = await departed.orphans(self.fleet)
        among = await self.tasks() if found else ()
        return [run for run in found if not among or run.task in among]

    async def is_over(self, coder: str) -> bool:
        """Is there nothing left to do without a human, apart from what no seat can take?"""
        among = await self.tasks()
        if not among:
            return await is_over(self.desk, coder)
        if await rests.hold_up(self.desk, coder, among):
            return False
        return not await going_on(self.fleet, among, seated=False)


async def going_on(fleet: Fleet, among: Sequence[TaskId], *, seated: bool) -> Sequence[Task]:
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
        or (task.state is State.REVIEW and (task.landing or _may_land(task)))
        or (task.id in holds and starts(holds[task.id]))
    ]


def _may_land(task: Task) -> bool:
    return task.approved and not task.paused and not task.note
