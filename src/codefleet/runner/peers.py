"""Dead runners: those whose process has ended, and what they left in the fleet."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from codefleet import platform
from codefleet.domain.errors import Refused
from codefleet.domain.model import Run, Runner
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.paths import Paths
from codefleet.runner.process.identity import Process

LOOK_S = 0.5
LONG = timedelta(days=1)
"""How long a machine that disappeared is shown as offline, so that people notice."""


async def dead_runners_here(fleet: Fleet) -> Sequence[Runner]:
    """The dead runners of this machine.

    One from another boot or container, whose pid means nothing here, is judged by its heartbeat:
    it may be on another machine with the same name.
    """
    oldest = await Dispatch(fleet).steady() - Dispatch(fleet).lease
    known = [
        runner for runner in await Dispatch(fleet).known_runners() if runner.host == fleet.host
    ]
    return [it for it in known if not (_is_alive(it) if _is_ours(it) else it.seen_at >= oldest)]


def _is_ours(runner: Runner) -> bool:
    return runner.machine in ("", platform.machine().pid_scope())


def _is_alive(runner: Runner) -> bool:
    return Process(runner.pid, int(runner.pid_started)).is_alive


async def runners_silent_for_long(fleet: Fleet) -> Sequence[Runner]:
    """The runners of other machines that have been silent for too long to be expected back."""
    return await _silent_elsewhere(fleet, LONG)


async def dead_runner_ids(fleet: Fleet) -> set[str]:
    """All runners known to have ended; those on other machines are judged by their heartbeat."""
    silent = await _silent_elsewhere(fleet, Dispatch(fleet).lease)
    return {runner.id for runner in (*await dead_runners_here(fleet), *silent)}


async def living(fleet: Fleet) -> Sequence[Runner]:
    """The runners that are alive, as far as this machine can tell."""
    gone = await dead_runner_ids(fleet)
    return [runner for runner in await Dispatch(fleet).known_runners() if runner.id not in gone]


async def _silent_elsewhere(fleet: Fleet, span: timedelta) -> Sequence[Runner]:
    """The runners of other machines without a heartbeat for this long."""
    oldest = await Dispatch(fleet).steady() - span
    known = [
        runner for runner in await Dispatch(fleet).known_runners() if runner.host != fleet.host
    ]
    return [runner for runner in known if runner.seen_at < oldest]


async def orphans(fleet: Fleet) -> Sequence[Run]:
    """Live runs of this machine whose runner is dead."""
    mine = [run for run in await Dispatch(fleet).live_runs() if run.host == fleet.host]
    if not mine:
        return ()
    gone = {runner.id: runner for runner in await dead_runners_here(fleet)}
    known = {runner.id for runner in await Dispatch(fleet).known_runners()}
    ours = {name for name, runner in gone.items() if _is_ours(runner)}
    runs = Paths(fleet.home)
    return [
        run
        for run in mine
        if run.runner in ours
        or ((run.runner in gone or run.runner not in known) and runs.run(run).is_dir())
    ]


async def refuse_namesake(fleet: Fleet) -> None:
    """Refuse to run under the name of another machine: caps and paths depend on names.

    A runner seen recently may be this machine's before a reboot: then it stays silent.
    """
    seen = await _namesakes(fleet)
    until = asyncio.get_running_loop().time() + Dispatch(fleet).lease.total_seconds() / 2
    while seen and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(LOOK_S)
        still = await _namesakes(fleet)
        if any(still.get(name, moment) != moment for name, moment in seen.items()):
            raise Refused(
                f"another machine of this fleet is also called {fleet.host}",
                hint="give this one a name of its own: FLEET_HOST=NAME, or `host` in fleet.toml",
            )
        seen = {name: moment for name, moment in seen.items() if name in still}


async def _namesakes(fleet: Fleet) -> Mapping[str, datetime]:
    """The runners with this name from another boot or container, and when they were seen."""
    alive = [runner for runner in await Dispatch(fleet).live_runners() if runner.host == fleet.host]
    return {runner.id: runner.seen_at for runner in alive if not _is_ours(runner)}


async def lane_holders(fleet: Fleet) -> set[str]:
    """Holders of lanes that will never come back."""
    known = {runner.id for runner in await Dispatch(fleet).known_runners()}
    dead = {runner.id for runner in await dead_runners_here(fleet)}
    holders = await Dispatch(fleet).lane_holders()
    return {holder for holder in holders if holder not in known or holder in dead}
