"""Saving the work of an agent that nobody disturbed, with as few gits as possible.

That is the usual case: the agent stayed on its branch, nobody else moved it, and nothing is in
progress or hidden. Then HEAD stays on the branch, and the branch moves once, by compare-and-swap.
Whatever else is found is left to `salvage` and `own_branch`.
"""

import asyncio
import os
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path, PurePath
from typing import NamedTuple

from codefleet.runner.git.commit import commit_tree
from codefleet.runner.git.git import Git
from codefleet.runner.git.head_log import moves, own_heads
from codefleet.runner.git.history import is_near_ancestor
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.locks import drop_stale
from codefleet.runner.git.lookup import commit_at, head_of, tree_at
from codefleet.runner.git.ref_transaction import change_refs
from codefleet.runner.git.salvage import UNFINISHED
from codefleet.runner.git.staging import staging
from codefleet.runner.git.trusted_index import renew_index

LIST = ("ls-files", "-v", "--stage", "--others", "--exclude-standard", "-z")
CHANGED = ("ls-files", "-v", "-z", "--cached", "--modified", "--deleted", "--others")
PLAIN, NEW = "H ", "? "
"""How git marks a file in the index that is not hidden, and one that is not in it."""
GITLINK = "160000 "

Stamp = tuple[int, ...] | None


class Work(NamedTuple):
    """Where a branch is, and a commit of everything on top of it, from an index with this stamp."""

    tip: str
    commit: str
    stamp: Stamp


class Saved(NamedTuple):
    """Everything in a worktree is in the commit `tip`, as long as the index stays as it is."""

    tip: str
    made: bool
    """Was there anything to commit?"""
    stamp: Stamp


async def tip_of(worktree: Path, branch: str) -> str | None:
    """The commit of a worktree on its own branch, if nobody interfered, and nothing is unfinished.

    The log of its HEAD must have every move, each from where the last one ended.
    """
    folder, ref = git_dir(worktree), f"refs/heads/{branch}"
    drop_stale(folder, worktree)
    if any((folder / mark).exists() for mark in (*UNFINISHED, "info/sparse-checkout")):
        return None
    if any(folder.glob("sharedindex.*")):  # half of the index would be elsewhere
        return None
    if head_of(worktree) != ref:
        return None
    tip = await commit_at(Git(worktree), ref)
    moved = moves(worktree)
    is_whole = all(after.old == before.new for before, after in pairwise(moved))
    return tip if tip and is_whole and own_heads(worktree)[:1] == [tip] else None


async def commit_all(worktree: Path, branch: str, base: str, message: str) -> Work | None:
    """A commit of everything in a worktree; None if it is not that simple.

    It is the branch's tip if there was nothing to commit. No ref moves.
    """
    git, tip = Git(worktree), await tip_of(worktree, branch)
    if tip is None or not await is_near_ancestor(git, base, tip):
        return None
    listed = await git.run(*LIST)
    entries = [entry for entry in listed.out.split("\0") if entry]
    if listed.code or not all(map(_is_plain, entries)) or _has_repository(worktree, entries):
        return None
    tracked = [entry for entry in entries if not entry.startswith(NEW)]
    await asyncio.to_thread(renew_index, worktree, tracked)
    if (await git.run(*staging())).code:
        return None
    tree, stamp = await git("write-tree"), index_of(worktree)
    if tree == await tree_at(git, tip):
        return Work(tip, tip, stamp)
    return Work(tip, await commit_tree(git, tree, [tip], message), stamp)


def _has_repository(worktree: Path, entries: Iterable[str]) -> bool:
    """Is any new file in a repository inside the worktree?"""
    new = (PurePath(entry[len(NEW) :]) for entry in entries if entry.startswith(NEW))
    folders = {folder for path in new for folder in path.parents[:-1]}
    return any(os.path.lexists(worktree / folder / ".git") for folder in folders)


def _is_plain(entry: str) -> bool:
    """Is it neither hidden by a flag nor a conflict nor a repository of its own?"""
    if entry.startswith(NEW):
        return not entry.endswith("/")
    return entry.startswith(PLAIN) and not entry[len(PLAIN) :].startswith(GITLINK)


async def advance_branch(worktree: Path, branch: str, work: Work, also: str) -> Saved | None:
    """Move the branch to the commit, and the ref `also` with it; None if it moved meanwhile."""
    ref, git, (tip, commit, stamp) = f"refs/heads/{branch}", Git(worktree), work
    lines = [f"update {also} {commit}"]
    if commit != tip:
        lines.append(f"update {ref} {commit} {tip}")
    if (await change_refs(git, lines, "fleet: salvage")).code:
        return None
    return Saved(commit, commit != tip, stamp)


async def is_still_saved(worktree: Path, branch: str, saved: Saved) -> bool:
    """Is everything in the worktree still saved, with nothing new or hidden in it?"""
    if await tip_of(worktree, branch) != saved.tip or index_of(worktree) != saved.stamp:
        return False
    listed = await Git(worktree)(*CHANGED, "--exclude-standard")
    return all(entry.startswith(PLAIN) for entry in listed.split("\0") if entry)


def index_of(worktree: Path) -> Stamp:
    """A value that changes with the index."""
    try:
        facts = (git_dir(worktree) / "index").stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size
