"""A branch as git stores it: moved by compare-and-swap, freed from the locks of a killed git."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from codefleet.domain.errors import Unreachable
from codefleet.runner.repos.git import Git, failed
from codefleet.runner.repos.journal import Move
from codefleet.runner.repos.two_steps import move_ref

NO_SUCH_REF = 1
MOVES = 1000
"""How many moves of a branch to look back."""
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


async def given_up(git: Git, ref: str, old: str, tip: str) -> str | None:
    """The newest commit in `tip` that the branch was once at, although `old` does not contain it.

    Somebody moved the branch back or rewrote it: the reflog shows it.
    """
    brought = (await git("rev-list", "--topo-order", f"{old}..{tip}")).split()
    newest = ("log", "--walk-reflogs", f"--max-count={MOVES}", "--format=%H")
    was_at = {*(await git.run(*newest, ref)).out.split()}
    return next((commit for commit in brought if commit in was_at), None)


async def unlock(git: Git, step: Move) -> None:
    """Remove the locks that our killed git left on the branch and on HEAD.

    Git writes the new value into a branch's lock, and nobody else ever writes `new`, so the content
    shows whose it is. HEAD's lock, and a branch's lock in its first microseconds, are empty.
    """
    words = ("rev-parse", "--git-path", f"{_ref(step)}.lock", "--git-path", "HEAD.lock")
    for path in (await git(*words)).splitlines():
        lock = git.folder / path
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
