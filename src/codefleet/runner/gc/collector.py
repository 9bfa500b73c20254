"""Removing what is no longer needed, and never anything that exists only once."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.access import Right
from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.model import Repo, RunId, Task, TaskId
from codefleet.domain.words import State
from codefleet.ports import TaskQuery
from codefleet.runner import peers
from codefleet.runner.context import Context
from codefleet.runner.git.archive import archive
from codefleet.runner.git.branch import drop_branch
from codefleet.runner.git.git import Git
from codefleet.runner.git.run_refs import drop_run_refs, tracked_tasks
from codefleet.runner.git.slot_handover import Occupied
from codefleet.runner.git.slots import Slot
from codefleet.runner.git.worktree_list import worktrees
from codefleet.runner.process import custody
from codefleet.runner.process.custody import AgentProcess
from codefleet.runner.run.task_branches import branches_of_tasks, task_of_branch
from codefleet.runner.run.workspace import Workspace


class Told(NamedTuple):
    """What happened to one thing; if not `gone`, the text states why it stays."""

    text: str
    gone: bool = True


async def collect(context: Context, *, dry_run: bool = False) -> AsyncIterator[Told]:
    """Remove idle worktrees, branches of finished tasks and files of old runs; report each."""
    await context.fleet.permit(Right.COLLECT)
    for repo in await context.repos():
        workspace = Workspace(context, repo)
        busy = await workspace.in_use()
        idle = [slot for slot in await workspace.pool.slots() if slot.path not in busy]
        async for told in _worktrees(workspace, idle, dry_run=dry_run):
            yield told
        async for told in _branches(context, repo, idle, dry_run=dry_run):
            yield told
        if not dry_run:
            await _drop_run_refs(context, repo)
    async for told in _run_folders(context, dry_run=dry_run):
        yield told


async def trim(context: Context) -> None:
    """Keep no more worktrees per repo than the fleet has seats: more exist only after mishaps."""
    seats = sum(len(runner.seats) for runner in await context.dispatch.known_runners())
    for repo in await context.repos():
        workspace = Workspace(context, repo)
        slots = await workspace.pool.slots()
        if len(slots) > seats:
            busy = await workspace.in_use()
            idle = [slot.path for slot in slots if slot.path not in busy]
            for path in idle[: len(slots) - seats]:
                with suppress(Occupied):  # taken meanwhile
                    await workspace.pool.remove(path, workspace.in_use)


async def reset(context: Context) -> AsyncIterator[Told]:
    """Save and archive all work of the fleet, then forget every task.

    Forgetting comes last, so that after any earlier failure the tasks are still there.
    """
    dead = await peers.dead_runner_ids(context.fleet)
    await context.dispatch.refuse_while_alive(dead)
    async for told in _end_agents(context):
        yield told
    for repo in await context.repos():
        workspace = Workspace(context, repo)
        for slot in await workspace.pool.slots():
            await workspace.pool.remove(slot.path)
        for branch in await branches_of_tasks(context.fleet, Path(repo.path)):
            yield await _put_away(repo, branch)
        await _drop_run_refs(context, repo, every=True)
    for repo in await context.fleet.repos():
        if not Path(repo.path).is_dir():
            yield _stays(f"work on {repo.name}", f"there is no folder {repo.path}")
    await context.fleet.forget(dead)


async def _end_agents(context: Context) -> AsyncIterator[Told]:
    """End the agents that a killed runner left running here, each with its grace period."""
    here = context.fleet.host
    live = [run for run in await context.dispatch.live_runs() if run.host == here]
    working: dict[RunId, AgentProcess] = {}
    for run in live:
        kept = await custody.adopt(context.paths.run(run))
        if kept and kept.keeper.is_alive:
            kept.stop()
            working[run.id] = kept
    for run in live:
        if run.id in working:
            await working[run.id].ended()
            yield Told(f"ended {run.agent}, which was working on {run.task}")
        # also checks that outlived their runner
        await asyncio.to_thread(custody.kill_tagged, run.id)


async def _put_away(repo: Repo, branch: str) -> Told:
    """Archive a branch and delete it; one that git cannot delete is archived and stays."""
    folder = Path(repo.path)
    try:
        kept = await drop_branch(folder, branch, repo.trunk_ref, branch)
    except WorkspaceTrouble as trouble:
        tip = await Git(folder)("rev-parse", f"refs/heads/{branch}^{{commit}}")
        kept = await archive(folder, branch, tip)
        return Told(f"archived as {kept}, but not deleted: {trouble.problem}", gone=False)
    return Told(f"archived {branch} as {kept}" if kept else f"dropped {branch}: it has landed")


async def _worktrees(
    workspace: Workspace, idle: Sequence[Slot], *, dry_run: bool
) -> AsyncIterator[Told]:
    for slot in idle:
        try:
            if not dry_run:
                await workspace.pool.remove(slot.path, workspace.in_use)
            yield Told(f"worktree {slot.path}")
        except WorkspaceTrouble as trouble:
            yield _stays(f"worktree {slot.path}", trouble.problem)


async def _branches(
    context: Context, repo: Repo, idle: Sequence[Slot], *, dry_run: bool
) -> AsyncIterator[Told]:
    """Branches of completed and cancelled tasks; where landing is off, the branch is the result."""
    going = {slot.path for slot in idle}
    for branch in await branches_of_tasks(context.fleet, Path(repo.path)):
        task = await _task(context, task_of_branch(branch))
        if task is None or not _is_done_with(task):
            continue
        where = (await _checked_out(repo)).get(branch)
        if where and where not in going:
            yield _stays(f"branch {branch}", f"it is checked out in {where}")
            continue
        try:
            folder = Path(repo.path)
            kept = None if dry_run else await drop_branch(folder, branch, repo.trunk_ref, task.id)
            yield Told(f"branch {branch}" + (f", kept as {kept}" if kept else ""))
        except WorkspaceTrouble as trouble:
            yield _stays(f"branch {branch}", trouble.problem)


async def _drop_run_refs(context: Context, repo: Repo, *, every: bool = False) -> None:
    """Drop this fleet's refs of tasks whose branch may go; other fleets' refs stay."""
    folder = Path(repo.path)
    ids = sorted(TaskId(task) for task in await tracked_tasks(folder))
    tasks = await context.fleet.list(TaskQuery(ids=ids)) if ids else ()
    await drop_run_refs(folder, {task.id for task in tasks if every or _is_done_with(task)})


async def _run_folders(context: Context, *, dry_run: bool) -> AsyncIterator[Told]:
    now = await context.fleet.now()
    oldest = now - timedelta(days=context.fleet.config.keep_runs_days)
    folders = context.paths.runs
    for folder in sorted(folders.iterdir()) if folders.is_dir() else ():
        found = await context.fleet.find_runs([RunId(folder.name)])
        ended = found[0].ended_at if found else _last_change(folder)
        if ended is None or ended > oldest:
            continue
        try:
            if not dry_run:
                await asyncio.to_thread(shutil.rmtree, folder)
            yield Told(f"files of run {folder.name}")
        except OSError as trouble:
            yield _stays(f"files of run {folder.name}", str(trouble))


def _stays(what: str, why: str) -> Told:
    return Told(f"{what} stays: {why}", gone=False)


async def _checked_out(repo: Repo) -> Mapping[str, Path]:
    """The branches that are checked out somewhere, and where."""
    listed = await worktrees(Git(Path(repo.path)))
    return {each.branch: each.path for each in listed if each.branch}


async def _task(context: Context, task_id: TaskId | None) -> Task | None:
    found = await context.fleet.list(TaskQuery(ids=[task_id])) if task_id else ()
    return found[0] if found else None


def _last_change(folder: Path) -> datetime:
    return datetime.fromtimestamp(folder.stat().st_mtime, UTC)


def _is_done_with(task: Task) -> bool:
    landed = task.state is State.COMPLETED and task.landed is not None
    return landed or task.state is State.CANCELLED
