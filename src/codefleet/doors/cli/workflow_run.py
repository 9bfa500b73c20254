"""Carry out a workflow: with our own runner, or by watching one that already works on it."""

from contextlib import AsyncExitStack

from codefleet.domain.scheduling import takes
from codefleet.doors.agent_tools import offered
from codefleet.doors.cli.call import home, say
from codefleet.doors.cli.run import heed_signals
from codefleet.doors.cli.watch import watching
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.runner import peers
from codefleet.runner.context import Context
from codefleet.runner.loop import Loop
from codefleet.runner.workload import progressing_tasks

LOOK_AGAIN_S = 2.0


async def carry_out(fleet: Fleet, flow: str, *, agents: int | None, quiet: bool) -> int:
    """Work until it ends or waits for a human; returns the signal that stopped us, or 0."""
    async with AsyncExitStack() as stack:
        view = None if quiet else await stack.enter_async_context(watching(home(), flow))
        if await _is_staffed(fleet, flow) and await _watch(fleet, flow):
            return 0
        context = Context(fleet, {"agents": agents})
        await stack.enter_async_context(offered(context))
        loop = Loop(context, agents=agents, workflow=flow, until_idle=True)
        loop.tell = view.tell if view else say
        came = heed_signals(loop, loop.tell)
        await loop.run()
        return came[0] if came else 0


async def _watch(fleet: Fleet, flow: str) -> bool:
    """Watch until nothing proceeds by itself; False if the runners that worked on it are gone."""
    while await progressing_tasks(fleet, await fleet.family_of(flow), seated=True):
        news = await fleet.changed(await fleet.last_seq(), within=LOOK_AGAIN_S)
        if not news and not await _is_staffed(fleet, flow):
            return False
    return True


async def _is_staffed(fleet: Fleet, flow: str) -> bool:
    """Is there a live runner that takes every unfinished task in it?"""
    ids = await fleet.family_of(flow)
    left = [task for task in await fleet.list(TaskQuery(ids=ids)) if not task.state.is_final]
    alive = [it for it in await peers.living(fleet) if it.workflow in (None, flow)]
    return any(all(takes(runner, task) for task in left) for runner in alive)
