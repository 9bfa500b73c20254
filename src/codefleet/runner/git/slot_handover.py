"""Between two runs in one slot: what the last one left is saved, and its processes end."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git import slot
from codefleet.runner.git.archive import keep, label
from codefleet.runner.git.commit import identity
from codefleet.runner.git.git import Git
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.locks import drop_stale
from codefleet.runner.git.lookup import commit_at
from codefleet.runner.git.own_branch import detach_for_good, save_own
from codefleet.runner.git.slot_lock import Taken
from codefleet.runner.git.snapshot import snapshot
from codefleet.runner.process.leftovers import kill_tagged, living_in, tag_of

LEFT_BEHIND = "Work left in a worktree\n\nSaved by the fleet before the worktree was used again.\n"
WAIT_FOR_HOLDER_S = 5.0
LOOK_AGAIN_S = 0.05

Restore = Callable[[Path], Awaitable[None]]
Renew = Callable[[], Awaitable[None]]


class Occupied(WorkspaceTrouble):
    """Another process holds the folder."""


class SlotRequest(NamedTuple):
    """A branch that a run is to work on.

    It starts at `start` if it is new, and continues from `tip` if that is known. `restore` undoes
    in a worktree what others did to the branch. `renew` raises if the run has lost its task.
    """

    branch: str
    start: str
    run: str = ""
    tip: str | None = None
    restore: Restore | None = None
    renew: Renew | None = None


async def end_leftovers(path: Path, run: str) -> None:
    """Kill what the last run left running in a slot; refuse a slot with any other process.

    That may be your shell or editor, which is not ours to kill. A git ends by itself soon.
    """
    await asyncio.to_thread(kill_tagged, run, tag_of(path))
    until = time.monotonic() + WAIT_FOR_HOLDER_S
    while others := await asyncio.to_thread(living_in, path):
        if time.monotonic() > until or any(it.name != "git" for it in others):
            raise Occupied(f"{others[0].name} is running in {path}", hint="leave that folder")
        await asyncio.sleep(LOOK_AGAIN_S)


async def vacate(repo: Git, path: Path, own: str) -> None:
    """Save everything in a slot and detach it from its branch.

    `own` is the branch that it was taken for: its work goes onto no other.
    """
    drop_stale(git_dir(path), path)
    if not slot.never_filled(path):
        await save_own(path, own, LEFT_BEHIND)
    head = await commit_at(Git(path), "HEAD")
    if head:
        await keep(path, head, label(own) or f"worktree-{path.name}")
    await leave(path, head or await repo("rev-parse", "HEAD"))


async def leave(path: Path, commit: str) -> None:
    """Detach a slot from its branch, at a commit that something else keeps."""
    await Git(path)("update-ref", "--no-deref", "-m", "fleet: leave", "HEAD", commit)


async def detach_held_slot(path: Path, request: SlotRequest, was: Taken) -> str | None:
    """Detach a slot that another process holds from the branch.

    If it was taken for this branch, return a commit with everything in it. Nothing there is wiped.
    """
    await restore_branch(path, request, was)
    await detach_for_good(path)
    if was.branch != request.branch:
        return None
    return await snapshot(path, LEFT_BEHIND, await identity(Git(path)))


async def restore_branch(path: Path, request: SlotRequest, was: Taken) -> None:
    """Undo what others did to the branch, if the worktree was taken for it."""
    if request.restore and was.branch in ("", request.branch):
        await request.restore(path)
