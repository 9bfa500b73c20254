"""Finding the git repository of a folder: its root, its trunk, its remote."""

import os
from pathlib import Path

from codefleet.config import load
from codefleet.domain.errors import Invalid, NotFound, Refused
from codefleet.domain.model import Repo
from codefleet.fleet import Fleet
from codefleet.fleet.repos import same_remote
from codefleet.runner.desk import Desk
from codefleet.runner.places import Places
from codefleet.runner.repos import trunk_file
from codefleet.runner.repos.git import Git
from codefleet.runner.repos.listing import LIST, parsed, worktrees
from codefleet.runner.repos.remote import Remote
from codefleet.runner.repos.salvage import commit_at, git_dir, is_ancestor
from codefleet.runner.worktree import refuse_without_room


async def known_repo(fleet: Fleet, folder: Path) -> Repo:
    """The fleet's repo that contains this folder; a new one is added."""
    root = await find(folder)
    fleet.refuse_foreign(str(root))
    known = {repo.path: repo for repo in await fleet.repos() if not fleet.is_elsewhere(repo)}
    if str(root) in known:
        return known[str(root)]
    for repo in known.values():
        if not Path(repo.path).is_dir() and await _has_worktrees_of(fleet, repo, root):
            return await _relocate(fleet, repo, root)
    return await register(fleet, root, await _wanted_trunk(fleet, root))


async def _wanted_trunk(fleet: Fleet, root: Path) -> str | None:
    """The trunk from the settings; here the repo's own committed file counts."""
    own = await trunk_file.at_commit(root, "HEAD")
    return load(fleet.home, repo=own, repo_name=root.name, env=os.environ).trunk


async def moved(fleet: Fleet, name: str, folder: Path) -> Repo:
    """Update the path of a repo whose folder was moved or cloned again."""
    root = await find(folder)
    repo = await fleet.repo(name)
    fleet.refuse_elsewhere(repo)
    other = next((each for each in await fleet.repos() if each.path == str(root)), None)
    if other:
        raise Refused(f"{root} is already {other.name}", hint="`fleet list` shows its tasks")
    if Path(repo.path).is_dir():
        raise Refused(
            f"{name} still exists at {repo.path}", hint="two clones are two repos: fleet init"
        )
    remote = await _remote(Git(root))
    if repo.shared and not same_remote(repo.remote, remote):
        raise Refused(
            f"{name} is shared through {repo.remote}, but {root} has {remote or 'no remote'}",
            hint="go to a clone of the same remote",
        )
    return await _relocate(fleet, repo, root)


async def _has_worktrees_of(fleet: Fleet, repo: Repo, root: Path) -> bool:
    """Does git list the fleet's worktrees there? Then it is a moved repo and not a new one."""
    pool = Places(fleet.home).worktrees(repo.name).resolve()
    return any(each.path.is_relative_to(pool) for each in await worktrees(Git(root)))


async def _relocate(fleet: Fleet, repo: Repo, root: Path) -> Repo:
    """Record the new path, and repair the worktrees, which know only the old one."""
    there = await fleet.relocate(repo, str(root))
    places = Places(fleet.home)
    pool = places.worktrees(repo.name)
    slots = [*pool.iterdir()] if pool.is_dir() else []
    await Git(root).run("worktree", "repair", *map(str, [*slots, places.lane(repo.name)]))
    return there


async def register(fleet: Fleet, path: Path, trunk: str | None = None) -> Repo:
    """Add the repository that contains this path to the fleet."""
    root = await find(path)
    git = Git(root)
    if (await git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")).code:
        raise Invalid(
            f"{root} has no commit yet", hint='make one first: git commit --allow-empty -m "Begin"'
        )
    await refuse_without_room(git)
    remote = await _remote(git)
    return await fleet.register(str(root), await _trunk(git, trunk), remote)


async def share(desk: Desk, name: str) -> Repo:
    """Share this repo through its remote, once the remote has everything that is here."""
    from codefleet.runner.workplace import branches_of_tasks  # imported here: it is slow

    repo = await desk.repo(name)
    git = Git(Path(repo.path))
    address = await _remote(git)  # may be newer than what the fleet knows
    if not address:
        raise Invalid(
            f"{repo.name} has no remote that others could reach",
            hint="add one, push to it, and run `fleet init --share` again: git remote add origin",
        )
    remote = Remote(repo, desk.places.remote_lock(repo.name))
    await remote.fetch()
    ours, theirs = f"refs/heads/{repo.trunk}", str(await remote.tip(repo.trunk))
    if not await is_ancestor(git, ours, theirs):
        raise Refused(
            f"{repo.trunk} has commits that its remote does not have",
            hint=f"push them first: git push origin {repo.trunk}",
        )
    for branch in await branches_of_tasks(desk.fleet, git.folder):
        await remote.fetch(branch)
        await remote.send_branch(branch, str(await commit_at(git, f"refs/heads/{branch}")))
    return await desk.fleet.share(await desk.fleet.repo(name), address)


async def _remote(git: Git) -> str | None:
    """The address of `origin`; a path is made absolute, because others run elsewhere."""
    found = (await git.run("remote", "get-url", "origin")).out.strip()
    path = git.folder / found
    return str(path.resolve()) if found and path.is_dir() else found or None


async def find(path: Path) -> Path:
    """The root of the repository's main working tree, also from inside a linked one."""
    if not path.is_dir():
        raise NotFound(f"there is no folder {path}", hint="give the path of a git repository")
    here = await _checkout(path)
    if here and not (git_dir(here) / "commondir").exists():  # only a linked one has it
        return here
    listed = await Git(path, looks_up=True).run(*LIST)
    if "dubious ownership" in listed.err:
        raise Invalid(
            f"{path} belongs to another user, so git does not trust it",
            hint=f"if you do: git config --global --add safe.directory {path}",
        )
    if listed.code:
        raise Invalid(
            f"{path} is not in a git repository", hint="go into one, or create one: git init"
        )
    root, *_, is_bare = parsed(listed.out)[0]
    if is_bare:
        raise Invalid(
            f"{root} is a bare repository: there is no checkout to work from",
            hint=f"make a clone and go there: git clone {root} FOLDER",
        )
    main = root if (root / ".git").exists() else await _checkout(root)  # a submodule, for example
    if main is None:
        raise Invalid(
            f"git does not report where the checkout of {root} is",
            hint="go there instead of into a worktree of it",
        )
    return main


async def _checkout(path: Path) -> Path | None:
    """The root of the checkout that contains this path, or that this git folder belongs to."""
    shown = await Git(path, looks_up=True).run("rev-parse", "--show-toplevel")
    root = Path(shown.out.removesuffix("\n"))
    return root if shown.code == 0 and (root / ".git").exists() else None


async def _trunk(git: Git, wanted: str | None) -> str:
    """The branch named in the settings, the remote's HEAD, or the checked-out branch."""
    if wanted:
        if (await git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{wanted}")).code:
            raise Invalid(f"there is no branch {wanted}", hint="fix `trunk` in fleet.toml")
        return wanted
    here = (await git.run("symbolic-ref", "--quiet", "--short", "HEAD")).out.strip()
    remote = (await git.run("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")).out.strip()
    usual = [remote.removeprefix("refs/remotes/origin/"), "main", "master", here]
    for name in filter(None, usual):
        if not (await git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{name}")).code:
            return name
    raise Invalid("no branch is checked out", hint="check out the branch that work should land on")
