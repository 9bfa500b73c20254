"""A human's approval, bound to the commit that the human saw."""

from pathlib import Path

from codefleet.domain.access import Holder, Right
from codefleet.domain.errors import Invalid, Refused, Unreachable
from codefleet.domain.model import Task
from codefleet.domain.run import last_made
from codefleet.domain.words import State
from codefleet.fleet.places import is_elsewhere
from codefleet.runner.context import Context
from codefleet.runner.git.archive import keep
from codefleet.runner.git.lookup import commit_at
from codefleet.runner.git.run_refs import track
from codefleet.runner.run.task_branches import Branches, Moved
from codefleet.runner.run.workspace import Workspace

LONGEST_SHOWN = 200


async def approve(context: Context, ref: str, revision: str | None = None) -> Task:
    """Approve work as its run delivered it or, with a `revision`, as somebody changed it since.

    Refuses a branch that moved since the run: nobody can approve what they have not seen.
    """
    fleet = context.fleet
    await fleet.permit(Right.LAND)
    task = await fleet.get(ref)
    run = last_made(await fleet.runs_of(task.id))
    repo = await context.repo(task.repo)
    if task.state is not State.REVIEW or run is None or not task.branch or task.is_landing:
        return await fleet.land(ref)
    if is_elsewhere(fleet, repo) or not Path(repo.path).is_dir():
        if revision:
            raise Refused(f"{repo.name} is not on this machine", hint="approve it where it is")
        return await fleet.land(ref)
    branches = Branches(repo, context.remote(repo))
    if revision:
        if isinstance(fleet.actor, Holder):
            await _refuse_foreign(branches, task, str(run.made), revision)
        await Workspace(context, repo).pool.free(task.branch)
        commit = await _chosen(branches, task.branch, revision)
        await track(branches.folder, run.id, commit)
        await keep(branches.folder, str(run.made), run.id)
        return await fleet.land(ref, commit)
    try:
        moved = await branches.compare(task.branch, str(run.made))
    except Unreachable:  # the lane compares them before it lands anything
        moved = None
    if moved and moved.found:
        raise await _refusal(branches, task, moved)
    return await fleet.land(ref, run.made)


async def _refuse_foreign(branches: Branches, task: Task, made: str, revision: str) -> None:
    """Refuse a commit that is neither what the run made nor what its branch has now: it may be the
    work of another team."""
    moved = await branches.compare(str(task.branch), made)
    if await commit_at(branches.git, revision) not in {made, moved.found if moved else made}:
        raise Invalid(
            f"there is no commit {revision[:LONGEST_SHOWN]} at the end of {task.branch}",
            hint=f"`fleet diff {task.id}` shows what can land",
        )


async def _chosen(branches: Branches, branch: str, revision: str) -> str:
    """Move the branch to the commit that a human names, and keep what it had."""
    commit = await commit_at(branches.git, revision)
    if commit is None:
        named = revision[:LONGEST_SHOWN]
        raise Invalid(f"there is no commit {named}", hint=f"git -C {branches.folder} log --all")
    moved = await branches.compare(branch, commit)
    if moved and await branches.is_checked_out(branch):
        raise Refused(
            f"{branch} is checked out, and not at {revision}",
            hint="switch that checkout to another branch first",
        )
    if moved:
        await branches.move_branch(branch, commit)
    return commit


async def _refusal(branches: Branches, task: Task, moved: Moved) -> Refused:
    land = f"`fleet land {task.id} --commit"
    return Refused(
        f"the work of {task.id} changed since its run: {await branches.difference(moved)}",
        hint=f"{land} {str(moved.found)[:10]}` lands it as it is now, "
        f"{land} {moved.expected[:10]}` as the run left it",
    )
