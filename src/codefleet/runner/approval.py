"""A human's approval, bound to the commit that the human saw."""

from pathlib import Path

from codefleet.domain.errors import Invalid, Refused, Unreachable
from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.runner.branches import Branches, Moved
from codefleet.runner.desk import Desk
from codefleet.runner.repos.run_refs import track
from codefleet.runner.repos.salvage import commit_at, keep


async def approve(desk: Desk, ref: str, revision: str | None = None) -> Task:
    """Approve work as its run delivered it or, with a `revision`, as somebody changed it since.

    Refuses a branch that moved since the run: nobody can approve what they have not seen.
    """
    fleet = desk.fleet
    await fleet.permit("land")
    task = await fleet.get(ref)
    run = await fleet.last_made(task)
    repo = await desk.repo(task.repo)
    if task.state is not State.REVIEW or run is None or not task.branch or task.landing:
        return await fleet.land(ref)
    if fleet.is_elsewhere(repo) or not Path(repo.path).is_dir():
        if revision:
            raise Refused(f"{repo.name} is not on this machine", hint="approve it where it is")
        return await fleet.land(ref)
    branches = Branches(repo, desk.remote(repo))
    if revision:
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


async def _chosen(branches: Branches, branch: str, revision: str) -> str:
    """Move the branch to the commit that a human names, and keep what it had."""
    commit = await commit_at(branches.git, revision)
    if commit is None:
        raise Invalid(f"there is no commit {revision}", hint=f"git -C {branches.folder} log --all")
    moved = await branches.compare(branch, commit)
    if moved and await branches.is_checked_out(branch):
        raise Refused(
            f"{branch} is checked out, and not at {revision}",
            hint="switch that checkout to another branch first",
        )
    if moved:
        await branches.put(branch, commit)
    return commit


async def _refusal(branches: Branches, task: Task, moved: Moved) -> Refused:
    land = f"`fleet land {task.id} --commit"
    return Refused(
        f"the work of {task.id} changed since its run: {await branches.difference(moved)}",
        hint=f"{land} {str(moved.found)[:10]}` lands it as it is now, "
        f"{land} {moved.expected[:10]}` as the run left it",
    )
