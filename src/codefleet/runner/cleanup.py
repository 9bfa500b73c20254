"""Removing the worktrees and branches of finished work; the work stays archived."""

from collections.abc import AsyncIterator
from pathlib import Path

from codefleet.domain.errors import Refused, Workspace
from codefleet.domain.model import Repo, Task
from codefleet.runner.collector import Told
from codefleet.runner.desk import Desk
from codefleet.runner.repos.git import Git
from codefleet.runner.repos.run_refs import drop_run_refs
from codefleet.runner.repos.salvage import commit_at, drop_branch
from codefleet.runner.workplace import Workplace
from codefleet.runner.worktree import Occupied


async def clean_up(desk: Desk, ref: str) -> AsyncIterator[Told]:
    """Remove the branches of a workflow that has ended, and the worktrees that are on them."""
    stands = await desk.fleet.cleanup_workflow(ref)
    repo = await desk.repo(stands.workflow.repo)
    place = Workplace(desk, repo)
    slots = {slot.branch: slot.path for slot in await place.pool.slots() if slot.branch}
    for task in stands.tasks:
        if path := slots.get(task.branch or ""):
            yield await _worktree(place, path)
        if told := await _branch(repo, task):
            yield told


async def put_away(
    desk: Desk, task: Task, *, branch: bool = True, worktree: bool = True
) -> AsyncIterator[Told]:
    """The same for one task that is not a stage of a workflow."""
    await desk.fleet.permit("clean up", task)
    if not task.state.is_final:
        raise Refused(f"{task.id} is {task.state}", hint="wait until it ends, or cancel it first")
    repo = await desk.repo(task.repo)
    place = Workplace(desk, repo)
    busy = await place.in_use()
    for slot in await place.pool.slots():
        if worktree and task.branch and slot.branch == task.branch and slot.path not in busy:
            yield await _worktree(place, slot.path)
    if branch and (told := await _branch(repo, task)):
        yield told


async def _worktree(place: Workplace, path: Path) -> Told:
    try:
        await place.pool.remove(path)
    except Occupied as trouble:
        return Told(f"worktree {path} stays: {trouble.problem}", gone=False)
    return Told(f"worktree {path}")


async def _branch(repo: Repo, task: Task) -> Told | None:
    folder = Path(repo.path)
    if not task.branch or not await commit_at(Git(folder), f"refs/heads/{task.branch}"):
        return None
    try:
        kept = await drop_branch(folder, task.branch, repo.trunk_ref, task.id)
        await drop_run_refs(folder, [task.id])
    except Workspace as trouble:
        return Told(f"branch {task.branch} stays: {trouble.problem}", gone=False)
    return Told(f"branch {task.branch}" + (f", kept as {kept}" if kept else ""))
