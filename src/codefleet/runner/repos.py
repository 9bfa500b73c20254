"""Repositories of the fleet: add one, find the one of a folder, move it, share it."""

import os
from pathlib import Path

from codefleet.config import load
from codefleet.domain.access import Holder, Right
from codefleet.domain.errors import Invalid, NotFound, Refused
from codefleet.domain.model import Repo
from codefleet.fleet import Fleet, places
from codefleet.fleet.dispatch import Dispatch
from codefleet.fleet.repos import same_remote
from codefleet.runner.context import Context
from codefleet.runner.git import trunk_file
from codefleet.runner.git.git import Git
from codefleet.runner.git.lookup import commit_at, is_ancestor
from codefleet.runner.git.new_branch import refuse_without_room
from codefleet.runner.git.repository import find, remote_of, trunk_of
from codefleet.runner.git.worktree_list import worktrees
from codefleet.runner.paths import Paths
from codefleet.runner.sharing.remote import Remote


async def known_repo(fleet: Fleet, folder: Path) -> Repo:
    """The fleet's repo that contains this folder; a new one is added, unless a member asks."""
    if isinstance(fleet.actor, Holder):
        return await _known_to_a_member(fleet, folder)
    root = await find(folder)
    places.refuse_foreign(fleet, str(root))
    known = {
        repo.path: repo for repo in await fleet.repos() if not places.is_elsewhere(fleet, repo)
    }
    if str(root) in known:
        return known[str(root)]
    for repo in known.values():
        if not Path(repo.path).is_dir() and await _has_worktrees_of(fleet, repo, root):
            return await _relocate(fleet, repo, root)
    return await register(fleet, root, await _wanted_trunk(fleet, root))


async def _known_to_a_member(fleet: Fleet, folder: Path) -> Repo:
    """Compare paths only: members are told nothing else about the folders of this machine."""
    within = [repo for repo in await fleet.repos() if folder.is_relative_to(repo.path)]
    if not within:
        raise NotFound(
            f"none of your repositories is at {str(folder)[:200]}",
            hint="leave it out if there is only one; else ask the fleet's owner for its path",
        )
    return max(within, key=lambda repo: len(repo.path))


async def _wanted_trunk(fleet: Fleet, root: Path) -> str | None:
    """The trunk from the settings; here the repo's own committed file counts."""
    own = await trunk_file.at_commit(root, "HEAD")
    return load(fleet.home, repo=own, repo_name=root.name, env=os.environ).trunk


async def moved(fleet: Fleet, name: str, folder: Path) -> Repo:
    """Update the path of a repo whose folder was moved or cloned again."""
    root = await find(folder)
    repo = await fleet.repo(name)
    places.refuse_elsewhere(fleet, repo)
    other = next((each for each in await fleet.repos() if each.path == str(root)), None)
    if other:
        raise Refused(f"{root} is already {other.name}", hint="`fleet list` shows its tasks")
    if Path(repo.path).is_dir():
        raise Refused(
            f"{name} still exists at {repo.path}", hint="two clones are two repos: fleet init"
        )
    remote = await remote_of(Git(root))
    if repo.shared and not same_remote(repo.remote, remote):
        raise Refused(
            f"{name} is shared through {repo.remote}, but {root} has {remote or 'no remote'}",
            hint="go to a clone of the same remote",
        )
    return await _relocate(fleet, repo, root)


async def _has_worktrees_of(fleet: Fleet, repo: Repo, root: Path) -> bool:
    """Does git list the fleet's worktrees there? Then it is a moved repo and not a new one."""
    pool = Paths(fleet.home).worktrees(repo.name).resolve()
    return any(each.path.is_relative_to(pool) for each in await worktrees(Git(root)))


async def _relocate(fleet: Fleet, repo: Repo, root: Path) -> Repo:
    """Record the new path, and repair the worktrees, which know only the old one."""
    there = await Dispatch(fleet).relocate(repo, str(root))
    paths = Paths(fleet.home)
    pool = paths.worktrees(repo.name)
    slots = [*pool.iterdir()] if pool.is_dir() else []
    await Git(root).run("worktree", "repair", *map(str, [*slots, paths.lane(repo.name)]))
    return there


async def register(fleet: Fleet, path: Path, trunk: str | None = None) -> Repo:
    """Add the repository that contains this path to the fleet."""
    await fleet.permit(Right.ADD_REPO)  # whoever may not learns nothing about our folders
    root = await find(path)
    git = Git(root)
    if (await git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")).code:
        raise Invalid(
            f"{root} has no commit yet", hint='make one first: git commit --allow-empty -m "Begin"'
        )
    await refuse_without_room(git)
    remote = await remote_of(git)
    return await fleet.register(str(root), await trunk_of(git, trunk), remote)


async def share(context: Context, name: str) -> Repo:
    """Share this repo through its remote, once the remote has everything that is here."""
    from codefleet.runner.run.task_branches import branches_of_tasks  # imported here: it is slow

    repo = await context.repo(name)
    git = Git(Path(repo.path))
    address = await remote_of(git)  # may be newer than what the fleet knows
    if not address:
        raise Invalid(
            f"{repo.name} has no remote that others could reach",
            hint="add one, push to it, and run `fleet init --share` again: git remote add origin",
        )
    remote = Remote(repo, context.paths.remote_lock(repo.name))
    await remote.fetch()
    ours, theirs = f"refs/heads/{repo.trunk}", str(await remote.tip(repo.trunk))
    if not await is_ancestor(git, ours, theirs):
        raise Refused(
            f"{repo.trunk} has commits that its remote does not have",
            hint=f"push them first: git push origin {repo.trunk}",
        )
    for branch in await branches_of_tasks(context.fleet, git.folder):
        await remote.fetch(branch)
        await remote.send_branch(branch, str(await commit_at(git, f"refs/heads/{branch}")))
    return await context.dispatch.share(await context.fleet.repo(name), address)
