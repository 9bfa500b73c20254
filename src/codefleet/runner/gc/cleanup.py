"""Removing the worktrees and branches of finished work; the work stays archived."""

from collections.abc import AsyncIterator
from pathlib import Path

from codefleet.domain.access import Right
from codefleet.domain.errors import Refused, WorkspaceTrouble
from codefleet.domain.model import Repo, Task
from codefleet.domain.views import WorkflowStatus
from codefleet.runner.context import Context
from codefleet.runner.gc.collector import Told
from codefleet.runner.git.branch import drop_branch
from codefleet.runner.git.git import Git
from codefleet.runner.git.lookup import commit_at
from codefleet.runner.git.run_refs import drop_run_refs
from codefleet.runner.git.slot_handover import Occupied
from codefleet.runner.run.workspace import Workspace


async def clean_up(context: Context, ref: str) -> AsyncIterator[Told]:
    """Remove the branches of a workflow that has ended, and the worktrees that are on them."""
    stands = await context.fleet.workflow(ref)
    await context.fleet.permit(Right.CLEAN_UP, *stands.tasks)
    _refuse_unfinished(stands)
    repo = await context.repo(stands.workflow.repo)
    workspace = Workspace(context, repo)
    slots = {slot.branch: slot.path for slot in await workspace.pool.slots() if slot.branch}
    for task in stands.tasks:
        if path := slots.get(task.branch or ""):
            yield await _worktree(workspace, path)
        if told := await _branch(repo, task):
            yield told


async def clean_up_task(
    context: Context, task: Task, *, branch: bool = True, worktree: bool = True
) -> AsyncIterator[Told]:
    """The same for one task that is not a stage of a workflow."""
    await context.fleet.permit(Right.CLEAN_UP, task)
    if not task.state.is_final:
        raise Refused(f"{task.id} is {task.state}", hint="wait until it ends, or cancel it first")
    repo = await context.repo(task.repo)
    workspace = Workspace(context, repo)
    busy = await workspace.in_use()
    for slot in await workspace.pool.slots():
        if worktree and task.branch and slot.branch == task.branch and slot.path not in busy:
            yield await _worktree(workspace, slot.path)
    if branch and (told := await _branch(repo, task)):
        yield told


def _refuse_unfinished(stands: WorkflowStatus) -> None:
    for task in stands.tasks:
        if not task.state.is_final:
            raise Refused(
                f"{stands.workflow.id} is not over: {task.title} is {task.state}",
                hint=f"wait for it, or `fleet workflow cancel {stands.workflow.id}` first",
            )


async def _worktree(workspace: Workspace, path: Path) -> Told:
    try:
        await workspace.pool.remove(path)
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
    except WorkspaceTrouble as trouble:
        return Told(f"branch {task.branch} stays: {trouble.problem}", gone=False)
    return Told(f"branch {task.branch}" + (f", kept as {kept}" if kept else ""))
