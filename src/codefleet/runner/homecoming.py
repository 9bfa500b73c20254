"""A machine that comes back: its outdated agents are ended, and their work is archived.

While it was away its leases expired, and its tasks continued elsewhere. What it still has of them
is kept under `refs/fleet/archive/`, here and at the remote.
"""

import asyncio
from contextlib import suppress

from codefleet.domain.errors import FleetError
from codefleet.domain.model import Repo, TaskId
from codefleet.runner import custody
from codefleet.runner.desk import Desk
from codefleet.runner.workplace import Workplace, branches_of_tasks, task_of_branch


async def come_home(desk: Desk) -> None:
    """End and archive what an earlier runner of this machine left and no live run owns."""
    await _end_forgotten_agents(desk)
    for repo in await desk.repos():
        if repo.shared:
            with suppress(FleetError):  # remote unreachable: nothing is lost, only not sent
                await _put_away(desk, repo)


async def _end_forgotten_agents(desk: Desk) -> None:
    # List the folders before asking the store, so that runs which start in between are ignored.
    folders = [each for each in desk.places.runs.glob("*") if not (each / "exit.json").exists()]
    live = {run.id for run in await desk.fleet.live_runs()}
    for folder in folders:
        if folder.name in live:
            continue
        kept = await custody.adopt(folder)
        if kept and kept.keeper.is_alive:
            kept.kill()
            await kept.ended()
        await asyncio.to_thread(custody.sweep, folder.name)


async def _put_away(desk: Desk, repo: Repo) -> None:
    place = Workplace(desk, repo)
    branches = await branches_of_tasks(desk.fleet, place.repo)
    if not branches or not place.travel:
        return
    await place.travel.remote.fetch("fleet/")
    held = {each.branch for each in await place.pool.slots() if place.pool.locks.is_held(each.path)}
    at_work = await _at_work(desk)
    for branch in branches:
        if branch not in held and task_of_branch(branch) not in at_work:
            await place.travel.put_away(branch)


async def _at_work(desk: Desk) -> set[TaskId]:
    live = await desk.fleet.live_runs()
    return {run.task for run in live if run.host == desk.fleet.host}
