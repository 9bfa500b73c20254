"""Locks between processes: ours, which the kernel frees, and git's, which a kill leaves behind."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from codefleet import platform
from codefleet.runner.git.layout import common_dir
from codefleet.runner.git.trusted_view import read_small

PATIENCE = (0.001, 0.05)
"""The first and the longest pause between two attempts, in seconds."""

LOOKS = 20
LOOK_AGAIN_S = 0.05


@asynccontextmanager
async def held(file: Path) -> AsyncIterator[int]:
    """Hold the lock on this file: one holder per machine, released even if it is killed.

    Yields the open file, for a child process that is to hold the lock as long as it runs.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        await _acquire(handle)
        yield handle
    finally:
        os.close(handle)


async def _acquire(handle: int) -> None:
    # Polling instead of a waiting thread, which could not be cancelled and would keep the lock.
    pause, longest = PATIENCE
    while True:
        with suppress(BlockingIOError):
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        await asyncio.sleep(pause)
        pause = min(pause * 2, longest)


def drop_stale(git_dir: Path, worktree: Path) -> list[Path]:
    """Remove the locks that a killed git left on a worktree and on its branch.

    They stay while any git process runs in the worktree.
    """
    stale = [*git_dir.glob("*.lock"), *_branch_lock(git_dir)]
    if not stale or any(_gits_in((git_dir, worktree))):
        return []
    for lock in stale:
        lock.unlink(missing_ok=True)
    return stale


async def drop_forgotten(git_dir: Path, name: str) -> None:
    """Remove a lock shared by all worktrees that a killed git left: it stays the same for a while,
    and no git runs in the repository."""
    shared = common_dir(git_dir)
    lock = shared / f"{name}.lock"
    first = _identity(lock)
    for _ in range(LOOKS):
        if first is None or _identity(lock) != first or any(_gits_in((shared, shared.parent))):
            return
        await asyncio.sleep(LOOK_AGAIN_S)
    for left in (lock, shared / f"{name}.new"):
        left.unlink(missing_ok=True)


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        seen = file.lstat()
    except FileNotFoundError:
        return None
    return seen.st_ino, seen.st_mtime_ns


def _branch_lock(git_dir: Path) -> Iterable[Path]:
    """The lock on the branch that is checked out, which no other worktree can have."""
    ref = os.fsdecode(read_small(git_dir / "HEAD").strip())
    if ref.startswith("ref: refs/heads/"):
        lock = common_dir(git_dir) / f"{ref.removeprefix('ref: ')}.lock"
        with suppress(OSError, ValueError):  # an agent may have written a name that none can have
            if lock.exists():
                yield lock


def _gits_in(folders: Iterable[Path]) -> Iterable[int]:
    """The git processes that run in one of these folders."""
    roots = tuple(folder.resolve() for folder in folders)
    processes = platform.processes()
    for pid in processes.pids():
        if processes.program(pid).startswith("git"):
            cwd = Path(next(processes.places(pid), ""))
            if any(cwd.is_relative_to(root) for root in roots):
                yield pid
