"""Seeing a workflow through: with a runner of our own when none is at work, else by watching."""

from contextlib import AsyncExitStack

from codefleet.domain.words import State
from codefleet.doors.cli.call import home, say
from codefleet.doors.cli.run import heed_signals
from codefleet.doors.cli.watch import watching
from codefleet.fleet import Fleet
from codefleet.runner.background import is_staffed
from codefleet.runner.desk import Desk
from codefleet.runner.loop import Loop

LOOK_AGAIN_S = 2.0


async def carry_out(fleet: Fleet, flow: str, *, agents: int | None, quiet: bool) -> int:
    """See it through until it has ended, or waits for a human; returns the signal that stopped it,
    if one did."""
    async with AsyncExitStack() as stack:
        view = None if quiet else await stack.enter_async_context(watching(home(), flow))
        tell = view.tell if view else say
        if await is_staffed(fleet):
            await _watch(fleet, flow)
            return 0
        loop = Loop(Desk(fleet, {"agents": agents}), agents=agents, until_idle=True)
        loop.tell = tell
        came = heed_signals(loop, tell)
        await loop.run()
        return came[0] if came else 0


async def _watch(fleet: Fleet, flow: str) -> None:
    while not await _rests(fleet, flow):
        news = await fleet.changed(await fleet.last_seq(), within=LOOK_AGAIN_S)
        if not news and not await is_staffed(fleet):
            say("the runner has gone; `fleet run` goes on")
            return


async def _rests(fleet: Fleet, flow: str) -> bool:
    """Is there nothing in it that goes on by itself?"""
    stands = await fleet.workflow(flow)
    moving = {State.PENDING, State.RUNNING, State.REVIEW}
    if stands.state is State.ASKING:
        moving.remove(State.PENDING)  # what waits, waits for the answer
    return not any(task.state in moving for task in stands.tasks)
