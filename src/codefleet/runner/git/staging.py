"""Staging everything in a worktree, whatever else is in it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from codefleet.runner.git.git import Done, Git
from codefleet.runner.git.lookup import commit_at

GITLINK = re.compile(r"160000 (\w+) \d\t([^\0]+)\0")


def nested_repos(worktree: Path, status: str) -> list[str]:
    """Untracked repositories inside a worktree, from `git status -z`."""
    new = (entry[3:] for entry in status.split("\0") if entry.startswith("??"))
    return [path for path in new if has_repository(worktree, path)]


def has_repository(worktree: Path, path: str) -> bool:
    """Is there a repository in this folder of a worktree? One that a link leads to is elsewhere."""
    folder = worktree / path
    return (folder / ".git").exists() and folder.resolve() == worktree.resolve() / path


def staging(apart: Sequence[str] = ()) -> tuple[str, ...]:
    """The `git add` that stages everything except the repositories `apart` inside the worktree.

    New files outside a sparse checkout are work, too.
    """
    without = (f":(exclude,literal,top){path.rstrip('/')}" for path in apart)
    return ("add", "--all", "--sparse", "--ignore-errors", "--", ":/", *without)


async def submodules(git: Git, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """The submodules of a worktree, each with its commit in the index."""
    listed = await git("ls-files", "--stage", "-z", env=env)
    links = ((path, commit) for commit, path in GITLINK.findall(listed))
    return {path: commit for path, commit in links if has_repository(git.folder, path)}


async def stage(git: Git, apart: Sequence[str] = (), env: Mapping[str, str] | None = None) -> Done:
    """Stage everything except the repositories `apart`.

    Submodules are staged one by one: git itself would run another git in each, which would obey
    the settings in there.
    """
    inside = await submodules(git, env)
    done = await git.run(*staging([*apart, *inside]), env=env)
    heads = [(await commit_at(Git(git.folder / path), "HEAD"), path) for path in inside]
    links = "".join(f"160000 {head}\t{path}\0" for head, path in heads if head)
    if links:
        await git("update-index", "-z", "--index-info", stdin=links, env=env)
    return done
