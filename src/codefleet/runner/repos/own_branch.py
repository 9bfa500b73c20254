"""The branch that a worktree is on, against the git of that worktree: who else moved it?

The worktree's own log of HEAD has every move that the agent in it made, unless logs are off. Its
index follows the agent in any case. A move that neither shows was made from elsewhere.
"""

from itertools import pairwise
from pathlib import Path

from codefleet.runner.repos.git import Git
from codefleet.runner.repos.head_log import NOTHING, Move, moves, own_heads
from codefleet.runner.repos.salvage import (
    archive,
    bring_home,
    commit_at,
    head_ref,
    identity,
    is_ancestor,
    salvage,
    set_branch,
)

STEP_OFF = "fleet: step off "


async def restore_own(worktree: Path, branch: str, name: str, known: str | None) -> str | None:
    """Put a worktree's branch back if somebody else moved or deleted it; tell what was done.

    `known` is the newest commit of it that the fleet has seen. What others put there is archived.
    """
    git, ref = Git(worktree), f"refs/heads/{branch}"
    tip = await commit_at(git, ref)
    if await _is_on(git, ref):
        own = await own_head(git) or known
    elif tip:
        return None  # its agent is elsewhere, in a rebase perhaps
    else:
        own = known
    if own is None or tip == own:
        return None
    kept = await archive(worktree, name, tip) if tip else None
    await set_branch(git, ref, "-m", "fleet: restore", ref, own, tip or "")
    what = f"moved, and {tip[:10]} is kept as {kept}" if tip else "deleted"
    return f"somebody else took its branch {branch}, which is restored at {own[:10]}: it was {what}"


async def save_own(worktree: Path, branch: str, message: str) -> str | None:
    """Commit everything that is not committed, apart from whatever others do to the branch.

    The branch is moved forward onto it, if the worktree was on it and nobody else moved it. Returns
    the commit, or None when there was nothing to save.
    """
    was_on = await detach(worktree, branch)
    try:
        return await salvage(worktree, message, branch)
    finally:
        if was_on:
            await bring_home(worktree, branch)


async def detach(worktree: Path, branch: str) -> bool:
    """Leave every branch, where the worktree's own git left it.

    True if it was on this branch, or a runner that was killed since has left it so.
    """
    git = Git(worktree)
    on = await head_ref(git)
    if not on:
        left = [move.why for move in moves(worktree) if move.why.startswith(STEP_OFF)]
        return left[-1:] == [f"{STEP_OFF}{branch}"]
    if own := await own_head(git):
        why = f"{STEP_OFF}{on.removeprefix('refs/heads/')}"
        await git("update-ref", "--no-deref", "-m", why, "HEAD", own)
    return on == f"refs/heads/{branch}"


async def evict(worktree: Path) -> None:
    """Take the branch away from a worktree whose holder has lost it; all else stays as it is."""
    git = Git(worktree)
    if own := await own_head(git):
        await git("update-ref", "--no-deref", "-m", f"{STEP_OFF}for good", "HEAD", own)


async def own_head(git: Git) -> str | None:
    """The commit at which the worktree's own git left it, wherever its branch is now."""
    tip = await commit_at(git, "HEAD")
    logged = [await commit_at(git, commit) for commit in own_heads(git.folder)[:1]]
    own = logged[0] if logged else None
    if own is None or own == tip:
        return tip
    if tip and await is_ancestor(git, own, tip) and await _is_nearer(git, tip, own):
        return tip  # a program that writes no log
    return own


async def _is_nearer(git: Git, one: str, other: str) -> bool:
    """Is the index at least as near to one commit as to the other?"""
    differ = ("diff-index", "--cached", "--name-only", "-z")
    first, second = [(await git(*differ, each)).count("\0") for each in (one, other)]
    return first <= second


async def rejoin(worktree: Path, base: str, name: str, message: str) -> str | None:
    """Give work that stands on a strange history a place on top of what it was made from; tell it.

    That is what an agent's next commit looks like when its branch was moved or deleted under its
    feet: all of its own files, but not the history that they were made from.
    """
    git = Git(worktree)
    head = await git("rev-parse", "HEAD")
    parent = await forked_from(git)
    if parent is None and not (await git.run("merge-base", base, head)).code:
        return None
    parent = parent or await _last_related(git, base)
    who = await identity(git)
    commit = await git("commit-tree", f"{head}^{{tree}}", f"-p{parent}", "-m", message, env=who)
    kept = await archive(worktree, name, head)
    await git("update-ref", "-m", "fleet: rejoin", "HEAD", commit, head)
    return f"its commits had lost their history: they are kept as {kept}, and their files are one"


async def forked_from(git: Git) -> str | None:
    """The worktree's own last commit, if it went on from one that others put in its place."""
    for before, after in pairwise(moves(git.folder)):
        if after.old != before.new != after.new and await _is_strange(git, before, after):
            return await commit_at(git, before.new)
    return None


async def _is_strange(git: Git, before: Move, after: Move) -> bool:
    """Did others move the branch between these moves, and not a program that writes no log?

    The files of a commit follow the worktree, so they are nearer to what that had before.
    """
    if after.old == NOTHING:
        return True
    if not await is_ancestor(git, after.old, after.new):
        return False  # the agent went elsewhere itself
    differ = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", after.new)
    theirs, own = [(await git(*differ, each)).count("\0") for each in (after.old, before.new)]
    return own < theirs


async def _is_on(git: Git, ref: str) -> bool:
    return await head_ref(git) == ref


async def _last_related(git: Git, base: str) -> str:
    """The newest commit at which the worktree was and that shares history with `base`."""
    for commit in own_heads(git.folder):
        if not (await git.run("merge-base", base, commit)).code:
            return commit
    return base
