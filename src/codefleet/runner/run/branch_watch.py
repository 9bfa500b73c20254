"""Watches branches while their tasks run or wait, so that no agent can lose another's work."""

import asyncio
from pathlib import Path

from codefleet.domain.model import Repo, Run, Task
from codefleet.domain.run import last_made
from codefleet.domain.words import State
from codefleet.ports import TaskQuery
from codefleet.runner.context import Context
from codefleet.runner.git.branch import OURS
from codefleet.runner.git.git import Git
from codefleet.runner.git.head_log import own_heads
from codefleet.runner.git.lookup import commit_at
from codefleet.runner.git.own_branch import forked_from, own_head, restore_own
from codefleet.runner.git.run_refs import RUNS, track
from codefleet.runner.lease import Lease
from codefleet.runner.run.interruption import uninterrupted
from codefleet.runner.run.task_branches import Branches, Moved, restored

WAITING = (State.REVIEW, State.ASKING)
SETTLED_S = 0.1
"""Within this time, a running git has moved both the branch and its log."""


async def watch(lease: Lease) -> None:
    """Keep what a run has committed so far, and restore its branch if somebody else moved it."""
    run = lease.run
    if not run.worktree or not run.branch or not Path(run.worktree).is_dir():
        return
    worktree = Path(run.worktree)
    if not await _moves(worktree, run.branch):
        name, known = f"{run.id}-moved", run.tip or run.base
        if told := await restore_own(worktree, run.branch, name, known):
            await lease.tell("run.warned", told)
    git = Git(worktree)
    head = await own_head(git)
    if head and head not in (run.tip, run.base) and not await forked_from(git):
        await track(worktree, run.id, head)
        await lease.note(tip=head)


async def _moves(worktree: Path, branch: str) -> bool:
    """Is git just moving the branch, so that branch and log differ for a moment?"""
    before = await _state(worktree, branch)
    if before[0] == before[1]:
        return False
    await asyncio.sleep(SETTLED_S)
    return await _state(worktree, branch) != before


async def _state(worktree: Path, branch: str) -> tuple[str | None, str | None]:
    heads = own_heads(worktree)[:1]
    tip = await commit_at(Git(worktree), f"refs/heads/{branch}")
    return tip, heads[0] if heads else None


async def restore_deleted(context: Context) -> None:
    """Restore deleted branches of local work that waits for a human."""
    waiting = await context.fleet.list(TaskQuery(states=WAITING))
    for repo in await context.repos() if waiting else ():
        tasks = [each for each in waiting if each.repo == repo.name and each.branch]
        if tasks and not repo.shared:
            await _restore_deleted(context, repo, tasks)


async def _restore_deleted(context: Context, repo: Repo, tasks: list[Task]) -> None:
    branches = Branches(repo, None)
    listed = await branches.git("for-each-ref", "--format=%(refname)", OURS, RUNS)
    there = {*listed.splitlines()}
    for task in tasks:
        run = last_made(await context.fleet.runs_of(task.id))
        commit = run.made if run else None
        if run is None or commit is None or not await branches.has(commit):
            continue
        if f"{RUNS}{run.id}" not in there:
            await track(branches.folder, run.id, commit)
        if f"refs/heads/{task.branch}" in there or await branches.has_landed(commit):
            continue
        moved = Moved(str(task.branch), commit, None, is_ahead=False)
        await uninterrupted(_restore(context, branches, run, moved))


async def _restore(context: Context, branches: Branches, run: Run, moved: Moved) -> None:
    await context.dispatch.warn(run, await restored(branches, moved))
