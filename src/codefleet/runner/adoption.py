"""Taking over what dead runners of this machine left: their agents work on, under this runner.

What another machine left is claimed like any task, once its lease has expired; see `store`.
"""

from collections.abc import Awaitable, Callable, Collection

from codefleet.domain.errors import Stale
from codefleet.domain.model import Run, RunnerId, Task
from codefleet.domain.words import State
from codefleet.runner import peers
from codefleet.runner.context import Context
from codefleet.runner.run.attempt import Attempt
from codefleet.runner.stop import Cause
from codefleet.runner.workload import Workload

Drive = Callable[[Task, Run], Awaitable[Attempt | None]]


async def adopt_orphans(
    workload: Workload, runner: RunnerId, busy: Collection[str], drive: Drive
) -> None:
    """Drive the runs of dead runners, except those of seats that are busy here."""
    for run in await workload.orphans():
        if run.agent not in busy:
            try:
                await _adopt(workload.context, run, runner, drive)
            except Stale:
                continue  # another runner was faster


async def remove_dead_runners(context: Context) -> None:
    """Take the dead runners of this machine, and those silent for long, off the list."""
    for runner in await peers.dead_runners_here(context.fleet):
        await context.dispatch.remove_dead_runner(runner)
    for runner in await peers.runners_silent_for_long(context.fleet):
        await context.dispatch.remove_silent_runner(runner)


async def _adopt(context: Context, run: Run, runner: RunnerId, drive: Drive) -> None:
    task = await context.fleet.get(run.task)
    if task.state is State.RUNNING and task.fence == run.fence:
        run = await context.dispatch.adopt(run, runner)
        await drive(task.evolve(fence=run.fence), run)
    elif attempt := await drive(task, run):
        attempt.stop(Cause.LOST, "the task continued without it")
