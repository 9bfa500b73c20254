"""Taking away what is no longer needed, and never anything that exists only once."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from codefleet.domain.model import Repo, RunId, State, Task, TaskId
from codefleet.ports import TaskQuery
from codefleet.runner.desk import Desk
from codefleet.runner.git import Git
from codefleet.runner.salvage import drop_branch
from codefleet.runner.workplace import Workplace, task_of_branch

FLEET_BRANCHES = "refs/heads/fleet/"


async def collect(desk: Desk, *, dry_run: bool = False) -> AsyncIterator[str]:
    """Remove idle worktrees, branches of finished tasks and files of old runs; tell each."""
    for repo in await desk.repos():
        async for told in _worktrees(desk, repo, dry_run=dry_run):
            yield told
        async for told in _branches(desk, repo, dry_run=dry_run):
            yield told
    async for told in _run_folders(desk, dry_run=dry_run):
        yield told


async def trim(desk: Desk) -> None:
    """Keep no more worktrees per repo than the fleet has seats: more came only by mishaps."""
    seats = sum(len(runner.seats) for runner in await desk.fleet.store.runners())
    for repo in await desk.repos():
        place = Workplace(desk, repo)
        slots = await place.pool.slots()
        if len(slots) > seats:
            busy = await place.in_use()
            idle = [slot.path for slot in slots if slot.path not in busy]
            for path in idle[: len(slots) - seats]:
                await place.pool.remove(path)


async def reset(desk: Desk) -> AsyncIterator[str]:
    """Archive every branch of the fleet, remove its worktrees, then forget all tasks."""
    repos = await desk.repos()
    await desk.fleet.forget()
    for repo in repos:
        place = Workplace(desk, repo)
        for slot in await place.pool.slots():
            await place.pool.remove(slot.path)
        for branch in await _fleet_branches(repo):
            kept = await drop_branch(Path(repo.path), branch, repo.trunk, branch)
            yield f"archived {branch} as {kept}" if kept else f"dropped {branch}: it has landed"


async def _worktrees(desk: Desk, repo: Repo, *, dry_run: bool) -> AsyncIterator[str]:
    place = Workplace(desk, repo)
    busy = await place.in_use()
    for slot in await place.pool.slots():
        if slot.path not in busy:
            if not dry_run:
                await place.pool.remove(slot.path)
            yield f"worktree {slot.path}"


async def _branches(desk: Desk, repo: Repo, *, dry_run: bool) -> AsyncIterator[str]:
    """Branches of completed and cancelled tasks; where landing is off, the branch is the result."""
    for branch in await _fleet_branches(repo):
        task = await _task(desk, task_of_branch(branch))
        if task is None or not _is_done_with(task):
            continue
        kept = None if dry_run else await drop_branch(Path(repo.path), branch, repo.trunk, task.id)
        yield f"branch {branch}" + (f", kept as {kept}" if kept else "")


async def _run_folders(desk: Desk, *, dry_run: bool) -> AsyncIterator[str]:
    now = await desk.fleet.store.now()
    oldest = now - timedelta(days=desk.fleet.config.keep_runs_days)
    folders = desk.places.home / "runs"
    for folder in sorted(folders.iterdir()) if folders.is_dir() else ():
        found = await desk.fleet.store.runs(ids=[RunId(folder.name)])
        ended = found[0].ended_at if found else _last_change(folder)
        if ended is None or ended > oldest:
            continue
        if not dry_run:
            await asyncio.to_thread(shutil.rmtree, folder)
        yield f"files of run {folder.name}"


async def _fleet_branches(repo: Repo) -> Sequence[str]:
    listed = await Git(Path(repo.path))("for-each-ref", "--format=%(refname)", FLEET_BRANCHES)
    return [ref.removeprefix("refs/heads/") for ref in listed.splitlines()]


async def _task(desk: Desk, task_id: TaskId | None) -> Task | None:
    found = await desk.fleet.list(TaskQuery(ids=[task_id])) if task_id else ()
    return found[0] if found else None


def _last_change(folder: Path) -> datetime:
    return datetime.fromtimestamp(folder.stat().st_mtime, UTC)


def _is_done_with(task: Task) -> bool:
    landed = task.state is State.COMPLETED and task.landed is not None
    return landed or task.state is State.CANCELLED
