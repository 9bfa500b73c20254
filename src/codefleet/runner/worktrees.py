"""The worktree of a worker, for its own agent and for people: its status, commit it, push it."""

from pathlib import Path
from typing import NamedTuple

from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid, Refused
from codefleet.domain.model import Run, RunId, TaskId
from codefleet.domain.views import WorktreeStatus
from codefleet.fleet import places
from codefleet.runner.context import Context
from codefleet.runner.git.git import Git
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.lookup import commit_at
from codefleet.runner.git.salvage import STATUS, UNFINISHED, commit_all
from codefleet.runner.git.staging import nested_repos

LONGEST_MESSAGE = 1000


class Committed(NamedTuple):
    """The branch of a worktree and its commit; `is_new` if something had to be committed."""

    branch: str
    commit: str
    is_new: bool


async def commit(context: Context, message: str, handle: str | None) -> Committed:
    """Commit everything in the worktree of a worker at work, without running any hook."""
    await context.fleet.permit(Right.COMMIT)
    text = message.strip()
    if not 0 < len(text) <= LONGEST_MESSAGE:
        raise Invalid(f"a message has 1 to {LONGEST_MESSAGE} characters", hint="say what changed")
    run, worktree = await _at_work(context, handle)
    git, folder = Git(worktree), git_dir(worktree)
    if any((folder / mark).exists() for mark in UNFINISHED):
        raise Refused("a merge or rebase is in progress there", hint="finish it first")
    status = await git(*STATUS)
    made = await commit_all(git, folder, f"{text}\n", nested_repos(worktree, status))
    head = made or await commit_at(git, "HEAD")
    return Committed(str(run.branch), str(head), made is not None)


async def push(context: Context, handle: str | None) -> Committed:
    """Push the branch of a worker to the remote of its repo, as far as it is committed."""
    await context.fleet.permit(Right.PUSH)
    run = await _run(context, handle)
    repo = await context.repo((await context.fleet.get(run.task)).repo)
    if not repo.remote:
        raise Refused(f"{repo.name} has no remote", hint="add one: git remote add origin URL")
    tip = await commit_at(Git(Path(repo.path)), f"refs/heads/{run.branch}") if run.branch else None
    if tip is None:
        raise Refused(f"{run.id} has no branch here", hint="its work may be archived or landed")
    await context.origin(repo).send_branch(str(run.branch), tip)
    return Committed(str(run.branch), tip, is_new=False)


async def status(context: Context, handle: str | None) -> WorktreeStatus:
    """What a worker has committed and changed so far."""
    task, run = await _latest(context, handle)
    await context.fleet.permit_reading(task)
    if run is None:
        return WorktreeStatus()
    repo = await context.repo((await context.fleet.get(run.task)).repo)
    ahead, behind = (0, 0)
    if run.branch and not places.is_elsewhere(context.fleet, repo):
        ahead, behind = await _apart(Git(Path(repo.path)), run.branch, repo.trunk)
    worktree = _worktree(context, run)
    return WorktreeStatus(
        branch=run.branch,
        path=str(worktree) if worktree else None,
        has_changes=bool(worktree and await Git(worktree)(*STATUS)),
        ahead=ahead,
        behind=behind,
    )


async def _apart(git: Git, branch: str, trunk: str) -> tuple[int, int]:
    """How many commits the branch has that the trunk lacks, and the other way round."""
    sides = f"refs/heads/{branch}...refs/heads/{trunk}"
    done = await git.run("rev-list", "--left-right", "--count", sides, "--")
    if done.code:  # it has landed, or is archived
        return 0, 0
    ahead, behind = done.out.split()
    return int(ahead), int(behind)


def _worktree(context: Context, run: Run) -> Path | None:
    """The folder of a run at work on this machine."""
    folder = Path(run.worktree or "")
    is_here = run.is_live and run.worktree and run.host == context.fleet.host
    return folder if is_here and folder.is_dir() else None


async def _at_work(context: Context, handle: str | None) -> tuple[Run, Path]:
    run = await _run(context, handle)
    if not run.is_live or not run.worktree:
        raise Refused(f"{run.id} is not at work", hint="what it left is committed for it")
    worktree = _worktree(context, run)
    if worktree is None:
        raise Refused(f"the worktree of {run.id} is on {run.host}", hint="ask there")
    return run, worktree


async def _run(context: Context, handle: str | None) -> Run:
    """The last run of a worker; an agent's own run, whatever it asks for."""
    _, run = await _latest(context, handle)
    if run is None:
        raise Refused(f"{handle} has not started yet", hint="try again in a moment")
    return run


async def _latest(context: Context, handle: str | None) -> tuple[TaskId, Run | None]:
    """The task of a worker, and its last run if it has started."""
    fleet = context.fleet
    if own := await fleet.asking():
        if handle not in (None, await fleet.own_handle()):
            raise Refused("an agent may use only its own worktree", hint="leave out the handle")
        return own.task, own
    if handle is None:
        raise Invalid("whose worktree?", hint="give the handle of a worker")
    worker = await fleet.worker(handle)
    return worker.task, await context.dispatch.run(RunId(worker.run)) if worker.run else None
