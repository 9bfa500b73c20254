"""A machine that comes back: its outdated agents are ended, and their work is archived.

While it was away its leases expired, and its tasks continued elsewhere. What it still has of them
is kept under `refs/fleet/archive/`, here and at the remote.
"""

import asyncio
from contextlib import suppress

from codefleet.domain.errors import FleetError
from codefleet.domain.model import Repo, TaskId
from codefleet.runner.context import Context
from codefleet.runner.process import custody
from codefleet.runner.run.task_branches import branches_of_tasks, task_of_branch
from codefleet.runner.run.workspace import Workspace


async def end_stale_agents(context: Context) -> None:
    """End and archive what an earlier runner of this machine left and no live run owns."""
    await _end_forgotten_agents(context)
    for repo in await context.repos():
        if repo.shared:
            with suppress(FleetError):  # remote unreachable: nothing is lost, only not sent
                await _put_away(context, repo)


async def _end_forgotten_agents(context: Context) -> None:
    # List the folders before asking the store, so that runs which start in between are ignored.
    folders = [each for each in context.paths.runs.glob("*") if not (each / "exit.json").exists()]
    live = {run.id for run in await context.dispatch.live_runs()}
    for folder in folders:
        if folder.name in live:
            continue
        kept = await custody.adopt(folder)
        if kept and kept.keeper.is_alive:
            kept.kill()
            await kept.ended()
        await asyncio.to_thread(custody.kill_tagged, folder.name)


async def _put_away(context: Context, repo: Repo) -> None:
    workspace = Workspace(context, repo)
    branches = await branches_of_tasks(context.fleet, workspace.repo)
    if not branches or not workspace.sync:
        return
    await workspace.sync.remote.fetch("fleet/")
    held = {
        each.branch
        for each in await workspace.pool.slots()
        if workspace.pool.locks.is_held(each.path)
    }
    at_work = await _at_work(context)
    for branch in branches:
        if branch not in held and task_of_branch(branch) not in at_work:
            await workspace.sync.archive_unpushed(branch)


async def _at_work(context: Context) -> set[TaskId]:
    live = await context.dispatch.live_runs()
    return {run.task for run in live if run.host == context.fleet.host}
