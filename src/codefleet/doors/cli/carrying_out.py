"""Seeing a workflow through: with a runner of our own, or by watching when one is at work on it."""

from contextlib import AsyncExitStack

from codefleet.domain.scheduling import takes
from codefleet.doors.cli.call import home, say
from codefleet.doors.cli.run import heed_signals
from codefleet.doors.cli.watch import watching
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.runner import departed
from codefleet.runner.desk import Desk
from codefleet.runner.loop import Loop
from codefleet.runner.workload import going_on

LOOK_AGAIN_S = 2.0


async def carry_out(fleet: Fleet, flow: str, *, agents: int | None, quiet: bool) -> int:
    """See it through until it has ended, or waits for a human; returns the signal that stopped it,
    if one did."""
    async with AsyncExitStack() as stack:
        view = None if quiet else await stack.enter_async_context(watching(home(), flow))
        if await _is_staffed(fleet, flow) and await _watch(fleet, flow):
            return 0
        desk = Desk(fleet, {"agents": agents})
        loop = Loop(desk, agents=agents, workflow=flow, until_idle=True)
        loop.tell = view.tell if view else say
        came = heed_signals(loop, loop.tell)
        await loop.run()
        return came[0] if came else 0


async def _watch(fleet: Fleet, flow: str) -> bool:
    """Watch until nothing goes on by itself; False when those who worked on it have gone."""
    while await going_on(fleet, await fleet.family_of(flow), seated=True):
        news = await fleet.changed(await fleet.last_seq(), within=LOOK_AGAIN_S)
        if not news and not await _is_staffed(fleet, flow):
            return False
    return True


async def _is_staffed(fleet: Fleet, flow: str) -> bool:
    """Is a runner at work that takes everything in it that has not ended?"""
    ids = await fleet.family_of(flow)
    left = [task for task in await fleet.list(TaskQuery(ids=ids)) if not task.state.is_final]
    alive = [it for it in await departed.living(fleet) if it.workflow in (None, flow)]
    return any(all(takes(runner, task) for task in left) for runner in alive)
