"""Finding the git repository of a folder: its root, its trunk, its remote."""

import os
from pathlib import Path

from codefleet.domain.errors import Invalid, NotFound
from codefleet.runner.git.git import Git
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.lookup import commit_at
from codefleet.runner.git.worktree_list import LIST, parsed

LONGEST_SHOWN = 200


async def remote_of(git: Git) -> str | None:
    """The address of `origin`; a path is made absolute, because others run elsewhere."""
    found = (await git.run("remote", "get-url", "origin")).out.strip()
    path = git.folder / found
    return str(path.resolve()) if found and path.is_dir() else found or None


async def find(path: Path) -> Path:
    """The root of the repository's main working tree, also from inside a linked one."""
    if not os.path.isdir(path):  # noqa: PTH112 - false for a path that no system has, too
        shown = str(path)[:LONGEST_SHOWN]
        raise NotFound(f"there is no folder {shown}", hint="give the path of a git repository")
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


async def trunk_of(git: Git, wanted: str | None) -> str:
    """The branch named in the settings, the remote's HEAD, or the checked-out branch."""
    if wanted:
        if await commit_at(git, f"refs/heads/{wanted}") is None:
            shown = wanted[:LONGEST_SHOWN]
            raise Invalid(f"there is no branch {shown}", hint="fix `trunk` in fleet.toml")
        return wanted
    here = (await git.run("symbolic-ref", "--quiet", "--short", "HEAD")).out.strip()
    remote = (await git.run("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")).out.strip()
    usual = [remote.removeprefix("refs/remotes/origin/"), "main", "master", here]
    for name in filter(None, usual):
        if not (await git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{name}")).code:
            return name
    raise Invalid("no branch is checked out", hint="check out the branch that work should land on")
