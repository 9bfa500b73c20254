"""Who is no more: runners whose process ended, and what they left in the fleet."""

from collections.abc import Sequence
from datetime import timedelta

from codefleet.domain.model import Run, Runner
from codefleet.fleet import Fleet
from codefleet.runner.process import Process

LONG = timedelta(days=1)
"""How long a machine that vanished is shown as offline, for people to see that it is missing."""


async def here(fleet: Fleet) -> Sequence[Runner]:
    """The runners of this machine whose process is gone."""
    known = [runner for runner in await fleet.store.runners() if runner.host == fleet.host]
    return [it for it in known if not Process(it.pid, int(it.pid_started)).is_alive]


async def long_gone(fleet: Fleet) -> Sequence[Runner]:
    """The runners of other machines that have been silent for so long that nobody expects them."""
    oldest = await fleet.store.now() - LONG
    known = [runner for runner in await fleet.store.runners() if runner.host != fleet.host]
    return [runner for runner in known if runner.seen_at < oldest]


async def everywhere(fleet: Fleet) -> set[str]:
    """The runners that have ended as far as one can tell from here: others' by their heartbeat."""
    oldest = await fleet.store.now() - fleet.lease
    known = [runner for runner in await fleet.store.runners() if runner.host != fleet.host]
    silent = [runner for runner in known if runner.seen_at < oldest]
    return {runner.id for runner in (*await here(fleet), *silent)}


async def orphans(fleet: Fleet) -> Sequence[Run]:
    """Live runs of this machine whose runner is gone."""
    mine = [run for run in await fleet.store.runs(live=True) if run.host == fleet.host]
    if not mine:
        return ()
    gone = {runner.id for runner in await here(fleet)}
    known = {runner.id for runner in await fleet.store.runners()}
    return [run for run in mine if run.runner in gone or run.runner not in known]


async def lane_holders(fleet: Fleet) -> set[str]:
    """Holders of lanes that will never come back."""
    known = {runner.id for runner in await fleet.store.runners()}
    dead = {runner.id for runner in await here(fleet)}
    holders = {lane.holder for lane in await fleet.store.lanes()}
    return {holder for holder in holders if holder not in known or holder in dead}
