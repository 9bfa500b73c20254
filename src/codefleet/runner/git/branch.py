"""A branch as git stores it: moved by compare-and-swap, freed from the locks of a killed git."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from codefleet.domain.errors import Unreachable, WorkspaceTrouble
from codefleet.runner.git.archive import archive
from codefleet.runner.git.git import Git, failed
from codefleet.runner.git.head_log import end_of
from codefleet.runner.git.history import line
from codefleet.runner.git.journal import Move
from codefleet.runner.git.layout import common_dir, git_dir
from codefleet.runner.git.locks import drop_forgotten
from codefleet.runner.git.lookup import commit_at, is_ancestor
from codefleet.runner.git.object_reader import look_up
from codefleet.runner.git.ref_transaction import move_ref
from codefleet.runner.git.worktree_list import worktrees

TRIES = 3
OURS = "refs/heads/fleet/"
PACKED = "packed-refs"
NO_SUCH_REF = 1
MOVES = 1000
"""How many moves of a branch to look back."""
LONGEST_LOG = MOVES * 1024
LOOKS = 20
PAUSE = 0.05
"""An empty lock counts as abandoned if it stays the same all this time. A running git holds such a
lock for a fraction of a millisecond."""


async def move(
    git: Git, step: Move, lock: int, when_held: Callable[[], None] = lambda: None
) -> str | None:
    """Set the branch from `old` to `new`, or return why not; raises if git itself was killed."""
    done = await move_ref(git, _ref(step), step.old, step.new, lock=lock, when_held=when_held)
    if done.code < 0:
        raise failed(git.folder, ("update-ref", _ref(step), step.new, step.old), done)
    return f"git cannot move {step.trunk} in {git.folder} now: {done.err}" if done.code else None


async def head(git: Git, trunk: str) -> str:
    """The commit a branch is at."""
    words = ("rev-parse", "--verify", "--quiet", f"refs/heads/{trunk}^{{commit}}")
    if known := await look_up(git.folder, words[-1]):
        if known[0] is None:
            raise missing(git.folder, trunk)
        return known[0].id
    done = await git.run(*words)
    if done.code == NO_SUCH_REF:
        raise missing(git.folder, trunk)
    if done.code:
        raise failed(git.folder, words, done)
    return done.out.strip()


def missing(repo: Path, trunk: str) -> Unreachable:
    """The error for a branch that was renamed or deleted, and may come back."""
    return Unreachable(
        f"{repo} has no branch {trunk} to start from and land on",
        hint="name another: `fleet config set repos.NAME.trunk BRANCH`",
    )


async def dropped_commit(git: Git, ref: str, old: str, tip: str) -> str | None:
    """The newest commit in `tip` that the branch was once at, although `old` does not contain it.

    Somebody moved the branch back or rewrote it: the reflog shows it.
    """
    brought = await line(git, tip, old)
    if brought is None:
        brought = (await git("rev-list", "--topo-order", f"{old}..{tip}")).split()
    was_at = await _logged(git, ref)
    return next((commit for commit in brought if commit in was_at), None)


async def _logged(git: Git, ref: str) -> set[str]:
    """The commits that a branch was at, according to its reflog."""
    file = common_dir(git_dir(git.folder)) / "logs" / ref
    if logged := end_of(file, LONGEST_LOG).decode(errors="replace").splitlines()[-MOVES:]:
        return {entry.split(" ")[1] for entry in logged if entry.count(" ") > 1}
    newest = ("log", "--walk-reflogs", f"--max-count={MOVES}", "--format=%H")
    return {*(await git.run(*newest, ref)).out.split()}


async def unlock(git: Git, step: Move) -> None:
    """Remove the locks that our killed git left on the branch and on HEAD.

    Git writes the new value into a branch's lock, and nobody else ever writes `new`, so the content
    shows whose it is. HEAD's lock, and a branch's lock in its first microseconds, are empty.
    """
    own = git_dir(git.folder)
    for lock in (common_dir(own) / f"{_ref(step)}.lock", own / "HEAD.lock"):
        if _content(lock) == step.new or await _is_forgotten(lock):
            lock.unlink(missing_ok=True)


async def _is_forgotten(lock: Path) -> bool:
    """Is this an empty lock that does not change?"""
    first = _identity(lock)
    for _ in range(LOOKS):
        if _content(lock) != "" or _identity(lock) != first:
            return False
        await asyncio.sleep(PAUSE)
    return True


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        seen = os.lstat(file)
    except FileNotFoundError:
        return None
    return seen.st_ino, seen.st_mtime_ns


def _content(lock: Path) -> str | None:
    try:
        return lock.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        return None


def _ref(step: Move) -> str:
    return f"refs/heads/{step.trunk}"


async def drop_branch(repo: Path, branch: str, trunk: str, name: str) -> str | None:
    """Delete a branch; return the ref that keeps its work if the trunk does not have it."""
    git = Git(repo)
    ref = f"refs/heads/{branch}"
    if any(each.branch == branch for each in await worktrees(git)):
        raise WorkspaceTrouble(f"{branch} is checked out in a worktree", hint="git worktree list")
    kept = None
    while tip := await commit_at(git, ref):
        if not await is_ancestor(git, tip, trunk):
            kept = await archive(repo, name, tip)
        try:
            await set_branch(git, ref, "-d", ref, tip)
        except WorkspaceTrouble as trouble:
            if await commit_at(git, ref) == tip:  # it did not move: git itself failed
                raise WorkspaceTrouble(
                    f"cannot delete {branch}: {trouble.problem}", hint="git branch -D by hand"
                ) from trouble
    return kept


async def set_branch(git: Git, ref: str, *words: str) -> None:
    """Change or delete a branch that belongs to one task.

    Our own git has ended by then, so a lock on such a branch was left by a killed git.
    """
    for _ in range(TRIES):
        done = await git.run("update-ref", "--no-deref", *words)  # it may be a symbolic ref by now
        if not done.code:
            return
        if ref.startswith(OURS):
            with suppress(OSError):
                (common_dir(git_dir(git.folder)) / f"{ref}.lock").unlink()
        if PACKED in done.err:
            await drop_forgotten(git_dir(git.folder), PACKED)
    raise failed(git.folder, ("update-ref", *words), done)
