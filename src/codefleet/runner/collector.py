"""Removing what is no longer needed, and never anything that exists only once."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import Workspace
from codefleet.domain.model import Repo, RunId, Task, TaskId
from codefleet.domain.words import State
from codefleet.ports import TaskQuery
from codefleet.runner import custody, departed
from codefleet.runner.custody import Kept
from codefleet.runner.desk import Desk
from codefleet.runner.repos.git import Git
from codefleet.runner.repos.listing import worktrees
from codefleet.runner.repos.run_refs import drop_run_refs, tracked_tasks
from codefleet.runner.repos.salvage import archive, drop_branch
from codefleet.runner.workplace import Workplace, branches_of_tasks, task_of_branch
from codefleet.runner.worktree import Occupied, Slot


class Told(NamedTuple):
    """What happened to one thing; if not `gone`, the text states why it stays."""

    text: str
    gone: bool = True


async def collect(desk: Desk, *, dry_run: bool = False) -> AsyncIterator[Told]:
    """Remove idle worktrees, branches of finished tasks and files of old runs; report each."""
    await desk.fleet.permit("remove what is old")
    for repo in await desk.repos():
        place = Workplace(desk, repo)
        busy = await place.in_use()
        idle = [slot for slot in await place.pool.slots() if slot.path not in busy]
        async for told in _worktrees(place, idle, dry_run=dry_run):
            yield told
        async for told in _branches(desk, repo, idle, dry_run=dry_run):
            yield told
        if not dry_run:
            await _drop_run_refs(desk, repo)
    async for told in _run_folders(desk, dry_run=dry_run):
        yield told


async def trim(desk: Desk) -> None:
    """Keep no more worktrees per repo than the fleet has seats: more exist only after mishaps."""
    seats = sum(len(runner.seats) for runner in await desk.fleet.known_runners())
    for repo in await desk.repos():
        place = Workplace(desk, repo)
        slots = await place.pool.slots()
        if len(slots) > seats:
            busy = await place.in_use()
            idle = [slot.path for slot in slots if slot.path not in busy]
            for path in idle[: len(slots) - seats]:
                with suppress(Occupied):  # taken meanwhile
                    await place.pool.remove(path, place.in_use)


async def reset(desk: Desk) -> AsyncIterator[Told]:
    """Save and archive all work of the fleet, then forget every task.

    Forgetting comes last, so that after any earlier failure the tasks are still there.
    """
    dead = await departed.everywhere(desk.fleet)
    await desk.fleet.refuse_while_alive(dead)
    async for told in _end_agents(desk):
        yield told
    for repo in await desk.repos():
        place = Workplace(desk, repo)
        for slot in await place.pool.slots():
            await place.pool.remove(slot.path)
        for branch in await branches_of_tasks(desk.fleet, Path(repo.path)):
            yield await _put_away(repo, branch)
        await _drop_run_refs(desk, repo, every=True)
    for repo in await desk.fleet.repos():
        if not Path(repo.path).is_dir():
            yield _stays(f"work on {repo.name}", f"there is no folder {repo.path}")
    await desk.fleet.forget(dead)
    desk.fleet.drop_archive()


async def _end_agents(desk: Desk) -> AsyncIterator[Told]:
    """End the agents that a killed runner left running here, each with its grace period."""
    here = desk.fleet.host
    live = [run for run in await desk.fleet.live_runs() if run.host == here]
    working: dict[RunId, Kept] = {}
    for run in live:
        kept = await custody.adopt(desk.places.run(run))
        if kept and kept.keeper.is_alive:
            kept.stop()
            working[run.id] = kept
    for run in live:
        if run.id in working:
            await working[run.id].ended()
            yield Told(f"ended {run.agent}, which was working on {run.task}")
        await asyncio.to_thread(custody.sweep, run.id)  # also checks that outlived their runner


async def _put_away(repo: Repo, branch: str) -> Told:
    """Archive a branch and delete it; one that git cannot delete is archived and stays."""
    folder = Path(repo.path)
    try:
        kept = await drop_branch(folder, branch, repo.trunk_ref, branch)
    except Workspace as trouble:
        tip = await Git(folder)("rev-parse", f"refs/heads/{branch}^{{commit}}")
        kept = await archive(folder, branch, tip)
        return Told(f"archived as {kept}, but not deleted: {trouble.problem}", gone=False)
    return Told(f"archived {branch} as {kept}" if kept else f"dropped {branch}: it has landed")


async def _worktrees(
    place: Workplace, idle: Sequence[Slot], *, dry_run: bool
) -> AsyncIterator[Told]:
    for slot in idle:
        try:
            if not dry_run:
                await place.pool.remove(slot.path, place.in_use)
            yield Told(f"worktree {slot.path}")
        except Workspace as trouble:
            yield _stays(f"worktree {slot.path}", trouble.problem)


async def _branches(
    desk: Desk, repo: Repo, idle: Sequence[Slot], *, dry_run: bool
) -> AsyncIterator[Told]:
    """Branches of completed and cancelled tasks; where landing is off, the branch is the result."""
    going = {slot.path for slot in idle}
    for branch in await branches_of_tasks(desk.fleet, Path(repo.path)):
        task = await _task(desk, task_of_branch(branch))
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
        except Workspace as trouble:
            yield _stays(f"branch {branch}", trouble.problem)


async def _drop_run_refs(desk: Desk, repo: Repo, *, every: bool = False) -> None:
    """Drop this fleet's refs of tasks whose branch may go; other fleets' refs stay."""
    folder = Path(repo.path)
    ids = sorted(TaskId(task) for task in await tracked_tasks(folder))
    tasks = await desk.fleet.list(TaskQuery(ids=ids)) if ids else ()
    await drop_run_refs(folder, {task.id for task in tasks if every or _is_done_with(task)})


async def _run_folders(desk: Desk, *, dry_run: bool) -> AsyncIterator[Told]:
    now = await desk.fleet.now()
    oldest = now - timedelta(days=desk.fleet.config.keep_runs_days)
    folders = desk.places.runs
    for folder in sorted(folders.iterdir()) if folders.is_dir() else ():
        found = await desk.fleet.find_runs([RunId(folder.name)])
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


async def _task(desk: Desk, task_id: TaskId | None) -> Task | None:
    found = await desk.fleet.list(TaskQuery(ids=[task_id])) if task_id else ()
    return found[0] if found else None


def _last_change(folder: Path) -> datetime:
    return datetime.fromtimestamp(folder.stat().st_mtime, UTC)


def _is_done_with(task: Task) -> bool:
    landed = task.state is State.COMPLETED and task.landed is not None
    return landed or task.state is State.CANCELLED
