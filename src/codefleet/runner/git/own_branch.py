"""A worktree's own branch: did anyone outside that worktree move it?

The worktree's own HEAD log has every move that the agent in it made, unless logs are off. Its
index follows the agent in any case. A move that neither shows was made from elsewhere.
"""

from itertools import pairwise
from pathlib import Path

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git.archive import archive
from codefleet.runner.git.branch import set_branch
from codefleet.runner.git.commit import commit_tree
from codefleet.runner.git.git import Git
from codefleet.runner.git.head_log import NOTHING, Move, moves, own_heads
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.locks import drop_stale
from codefleet.runner.git.lookup import (
    commit_at,
    head_commit,
    head_ref,
    is_ancestor,
    merge_base,
    tree_at,
)
from codefleet.runner.git.salvage import rebased_branch, salvage

STEP_OFF = "fleet: step off "


async def restore_own(worktree: Path, branch: str, name: str, known: str | None) -> str | None:
    """Restore a worktree's branch if someone else moved or deleted it; return what was done.

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
    return f"someone else changed its branch {branch}; it is restored at {own[:10]}: it was {what}"


async def save_own(worktree: Path, branch: str, message: str) -> str | None:
    """Commit everything that is not committed, unaffected by what others do to the branch.

    The branch moves forward to it if the worktree was on it and nobody else moved it. Returns the
    commit, or None if there was nothing to save.
    """
    was_on = await detach(worktree, branch)
    try:
        return await salvage(worktree, message, branch)
    finally:
        if was_on:
            await fast_forward_to_head(worktree, branch)


async def detach(worktree: Path, branch: str) -> bool:
    """Detach HEAD at the commit where the worktree's own git left it.

    True if it was on this branch, or if a runner that was killed since detached it from there.
    """
    drop_stale(git_dir(worktree), worktree)
    git = Git(worktree)
    on = await head_ref(git)
    if not on:
        left = [move.why for move in moves(worktree) if move.why.startswith(STEP_OFF)]
        return left[-1:] == [f"{STEP_OFF}{branch}"]
    if own := await own_head(git):
        why = f"{STEP_OFF}{on.removeprefix('refs/heads/')}"
        await git("update-ref", "--no-deref", "-m", why, "HEAD", own)
    return on == f"refs/heads/{branch}"


async def detach_for_good(worktree: Path) -> None:
    """Detach a worktree whose holder has lost the branch; change nothing else there."""
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
        return tip  # moved by a program that writes no log
    return own


async def _is_nearer(git: Git, one: str, other: str) -> bool:
    """Is the index at least as close to `one` as to `other`?"""
    differ = ("diff-index", "--cached", "--name-only", "-z")
    first, second = [(await git(*differ, each)).count("\0") for each in (one, other)]
    return first <= second


async def rejoin(worktree: Path, base: str, name: str, message: str) -> str | None:
    """Move work on a foreign history back on top of what it was made from; return what was done.

    When a branch is moved or deleted under an agent, its next commit has all of its own files, but
    not the history that they were made from.
    """
    git = Git(worktree)
    head = await head_commit(git)
    parent = await forked_from(git)
    if parent is None and await merge_base(git, base, head):
        return None
    parent = parent or await _last_related(git, base)
    commit = await commit_tree(git, await tree_at(git, head), [parent], f"{message.rstrip()}\n")
    kept = await archive(worktree, name, head)
    await git("update-ref", "-m", "fleet: rejoin", "HEAD", commit, head)
    return f"its commits had lost their history: they are kept as {kept} and squashed into one"


async def forked_from(git: Git) -> str | None:
    """The worktree's own last commit, if its next one builds on what others put in its place."""
    for before, after in pairwise(moves(git.folder)):
        if after.old != before.new != after.new and await _is_strange(git, before, after):
            return await commit_at(git, before.new)
    return None


async def _is_strange(git: Git, before: Move, after: Move) -> bool:
    """Did others move the branch between these moves, rather than a program that writes no log?

    The files of a commit follow the worktree, so they are closer to what it had before.
    """
    if after.old == NOTHING:
        return True
    if not await is_ancestor(git, after.old, after.new):
        return False  # the agent itself moved elsewhere
    differ = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", after.new)
    theirs, own = [(await git(*differ, each)).count("\0") for each in (after.old, before.new)]
    return own < theirs


async def _is_on(git: Git, ref: str) -> bool:
    return await head_ref(git) == ref


async def _last_related(git: Git, base: str) -> str:
    """The newest commit the worktree was at that shares history with `base`."""
    for commit in own_heads(git.folder):
        if await merge_base(git, base, commit):
            return commit
    return base


async def detach_if_foreign(worktree: Path, branch: str) -> None:
    """Detach from any branch but a worktree's own, so that no other branch gets its commits.

    An agent may have checked another out to look at it. The worktree stays at the same commit.
    """
    git = Git(worktree)
    on = await head_ref(git)
    head = await commit_at(git, "HEAD")
    if on and head and on != f"refs/heads/{branch}":
        await git("update-ref", "--no-deref", "-m", "fleet: step off", "HEAD", head)


async def fast_forward_to_head(worktree: Path, branch: str) -> bool:
    """Put an agent's commits on `branch` although it left that branch; False if they diverged.

    Only moves the branch forward, and leaves an unfinished rebase alone.
    """
    if rebased_branch(git_dir(worktree)):
        return False
    drop_stale(git_dir(worktree), worktree)
    git = Git(worktree)
    ref = f"refs/heads/{branch}"
    if await head_ref(git) == ref:
        return True
    tip, head = await commit_at(git, ref), await commit_at(git, "HEAD")
    if tip is None or head is None or not await is_ancestor(git, tip, head):
        return False
    if head != tip:
        await set_branch(git, ref, "-m", "fleet: bring home", ref, head, tip)
    await git("symbolic-ref", "-m", "fleet: bring home", "HEAD", ref)
    return True


async def force_to_head(worktree: Path, branch: str, base: str, name: str) -> str | None:
    """Set `branch` to what the agent made, wherever it made it; the old tip is archived.

    Returns the archive's ref, or None if nothing was replaced. Refuses work that shares no history
    with `base`, since it could not be merged.
    """
    if await fast_forward_to_head(worktree, branch):
        return None
    git = Git(worktree)
    head, ref = await commit_at(git, "HEAD"), f"refs/heads/{branch}"
    if head is None or not await merge_base(git, base, head):
        raise WorkspaceTrouble(
            f"what the agent made in {worktree} shares no history with the trunk",
            hint="see git log there",
        )
    old = await commit_at(git, ref)
    kept = await archive(worktree, name, old) if old else None
    await set_branch(git, ref, "-m", "fleet: take home", ref, head, old or "")
    await git("symbolic-ref", "-m", "fleet: take home", "HEAD", ref)
    return kept
