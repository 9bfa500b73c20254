"""A pool of worktrees per repository: each run gets a folder of its own, and most are reused.

Creating a worktree writes every file; reusing one writes only what differs. A slot is handed out in
this order, so that a kill at any point neither loses work nor leaves a slot in a false state:

    lock it  ->  save what is in it  ->  detach, mark clean  ->  wipe  ->  unmark, onto the branch
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git import slot
from codefleet.runner.git.git import Git
from codefleet.runner.git.included_files import IncludedFiles, copy_included
from codefleet.runner.git.locks import held
from codefleet.runner.git.lookup import commit_at
from codefleet.runner.git.new_branch import make_branch
from codefleet.runner.git.own_branch import detach_for_good, fast_forward_to_head
from codefleet.runner.git.quick_save import Saved, is_still_saved
from codefleet.runner.git.slot_handover import (
    LOOK_AGAIN_S,
    WAIT_FOR_HOLDER_S,
    Occupied,
    Renew,
    Restore,
    SlotRequest,
    detach_held_slot,
    end_leftovers,
    leave,
    restore_branch,
    vacate,
)
from codefleet.runner.git.slot_lock import SlotLocks, Taken
from codefleet.runner.git.slots import REMOVE, Slot, Slots
from codefleet.runner.git.worktree_list import Listed, worktrees
from codefleet.runner.process.leftovers import kill_tagged, tag_of

InUse = Callable[[], Awaitable[Collection[Path]]]


class Pick(NamedTuple):
    """A locked slot for a branch that will be at `commit`; `was` is what it was last taken for."""

    path: Path
    commit: str
    was: Taken
    ready: bool = False
    new: bool = False


async def _nothing() -> Collection[Path]:
    return ()


class Pool:
    """The worktrees of one repository, shared by every process on this machine.

    A slot that is taken stays locked until this pool gives it back or the process ends.
    """

    def __init__(self, repo: Path, folder: Path, lock: Path) -> None:
        self._git = Git(repo)
        self._lock = lock
        self.locks = SlotLocks(lock.parent / "slots" / folder.name)
        self._slots = Slots(self._git, folder.resolve(), self.locks)

    async def slots(self) -> list[Slot]:
        """Every worktree of the pool that can be used."""
        return self._slots.usable(await worktrees(self._git))

    async def take(
        self,
        branch: str,
        start: str,
        *,
        in_use: InUse,
        run: str = "",
        keep: Sequence[str] = (),
        included: IncludedFiles | None = None,
        tip: str | None = None,
        restore: Restore | None = None,
        renew: Renew | None = None,
    ) -> Path:
        """A worktree on `branch`: the one already there, untouched, or a clean one.

        A new branch starts at `start`; an existing one continues from `tip`, or from where it is.
        If another process holds the branch's worktree for longer than a moment, it continues in
        another. Before a worktree continues with the branch or leaves it, `restore` undoes what
        others did to it.
        """
        request = SlotRequest(branch, start, run, tip, restore, renew)
        hopeless: set[Path] = set()
        patient_until = time.monotonic() + WAIT_FOR_HOLDER_S
        while True:
            async with held(self._lock):
                busy = {path.resolve() for path in await in_use()} | hopeless
                patient = time.monotonic() < patient_until
                pick = await self._pick(request, busy, patient=patient)
            if pick is None:
                await asyncio.sleep(LOOK_AGAIN_S)
                continue
            if pick.ready:
                await asyncio.to_thread(kill_tagged, pick.was.run, tag_of(pick.path))
                return pick.path
            try:
                await self._prepare(pick, request, keep, included)
            except BaseException as trouble:
                was = pick.was._replace(clean=self.locks.taken(pick.path).clean)
                self.locks.write(pick.path, was)
                self.locks.drop(pick.path)
                if pick.new or not isinstance(trouble, WorkspaceTrouble):
                    raise
                hopeless.add(pick.path)  # it cannot be saved or wiped, so leave it alone
            else:
                return pick.path

    async def regain(self, path: Path, branch: str, run: str) -> bool:
        """Hold the slot that this run took before; False if another has taken it since."""
        if self.locks.is_whole(path):
            return True
        self.locks.drop(path)
        until = time.monotonic() + WAIT_FOR_HOLDER_S
        while not self.locks.take(path):
            if self.locks.taken(path).run not in ("", run) or time.monotonic() > until:
                return False
            await asyncio.sleep(LOOK_AGAIN_S)
        if self.locks.taken(path).run not in ("", run):
            self.locks.drop(path)
            return False
        self.locks.write(path, Taken(branch, run))
        return True

    async def release(self, path: Path, saved: Saved | None = None) -> None:
        """Return a slot: save what it holds, free its branch, and let others take it.

        What is `saved` already, and has not changed since, is not saved again.
        """
        if not await self._seize(path, _nothing):
            return
        try:
            own = self.locks.taken(path).branch
            if saved and await is_still_saved(path, own, saved):
                await leave(path, saved.tip)
            else:
                await vacate(self._git, path, own)
            self.locks.write(path, Taken(clean=True))
        finally:
            self.locks.drop(path)

    async def free(self, branch: str) -> None:
        """Return every slot that is on this branch; one with another holder is only detached."""
        for each in await self.slots():
            if each.branch == branch:
                try:
                    await self.release(each.path)
                except Occupied:
                    await detach_for_good(each.path)

    async def remove(self, path: Path, in_use: InUse = _nothing) -> None:
        """Remove a slot from the pool and from disk, after saving what it holds."""
        if not await self._seize(path, in_use):
            return
        try:
            await vacate(self._git, path, self.locks.taken(path).branch)
            async with held(self._lock):
                if (await self._git.run(*REMOVE, str(path))).code:
                    slot.unlock_folders(path)
                    await self._git(*REMOVE, str(path))
                self.locks.write(path, Taken())
        finally:
            self.locks.drop(path)

    async def _begin(self, branch: str, start: str) -> str:
        """The commit to check out: the branch's tip, or where the branch will start."""
        names = f"refs/heads/{branch}^{{commit}}\n{start}^{{commit}}\n"
        found = await self._git("cat-file", "--batch-check", stdin=names)
        for words in map(str.split, found.splitlines()):
            if words[1:2] == ["commit"]:
                return words[0]
        raise WorkspaceTrouble(
            f"there is no commit {start!r} in {self._git.folder}",
            hint="a repository needs a first commit, and its trunk must exist",
        )

    async def _pick(
        self, request: SlotRequest, busy: Collection[Path], *, patient: bool
    ) -> Pick | None:
        """Choose a slot and lock it; None to wait until the branch's own slot is released.

        The caller holds the pool's lock.
        """
        branch, tip = request.branch, request.tip
        listed = await self._slots.listed()
        self._refuse_if_elsewhere(branch, listed)
        slots = self._slots.usable(listed)
        for there in slots:
            was = self.locks.taken(there.path)
            if branch not in (there.branch, was.branch):
                continue
            is_ours = there.path in self.locks
            if not self.locks.take(there.path):
                if patient and was.branch == branch:
                    return None
                if there.branch == branch:
                    tip = await detach_held_slot(there.path, request, was) or tip
            elif await self._continues(there, request, was):
                return self._picked(there.path, request, "", ready=True)
            elif not is_ours:
                self.locks.drop(there.path)
        commit = tip or await self._begin(branch, request.start)
        path = self._slots.first_free(slots, request.run, busy)
        if path:
            return self._picked(path, request, commit)
        return self._picked(await self._slots.add(commit), request, commit, new=True)

    def _picked(
        self,
        path: Path,
        request: SlotRequest,
        commit: str,
        *,
        ready: bool = False,
        new: bool = False,
    ) -> Pick:
        was = self.locks.taken(path)
        holds = request.branch if ready or was.clean else was.branch  # until that is saved
        self.locks.write(path, Taken(holds, request.run, was.clean and not ready))
        return Pick(path, commit, was, ready, new)

    def _refuse_if_elsewhere(self, branch: str, listed: Sequence[Listed]) -> None:
        for each in listed:
            if each.branch == branch and not self._slots.has(each.path):
                raise WorkspaceTrouble(
                    f"{branch} is checked out in {each.path}",
                    hint="switch that checkout to another branch",
                )

    async def _continues(self, there: Slot, request: SlotRequest, was: Taken) -> bool:
        """Does this locked slot hold the branch's unfinished work?"""
        branch = request.branch
        if there.branch == branch:
            if was.branch in ("", branch):
                await restore_branch(there.path, request, was)
                return True
            await detach_for_good(there.path)  # an agent of another task checked it out
            return False
        if was.clean or await commit_at(self._git, f"refs/heads/{branch}") is None:
            return False
        await fast_forward_to_head(there.path, branch)
        return True

    async def _prepare(
        self, pick: Pick, request: SlotRequest, keep: Sequence[str], included: IncludedFiles | None
    ) -> None:
        path, branch, run = pick.path, request.branch, request.run
        if not pick.new:
            await end_leftovers(path, pick.was.run)
        if not pick.was.clean:
            await vacate(self._git, path, pick.was.branch)
            self.locks.write(path, Taken(branch, run, clean=True))
        if request.renew:
            await request.renew()
        # Concurrently, because git waits for the disk when it creates a branch.
        wiped = slot.wipe(path, pick.commit, keep)
        made = make_branch(self._git, branch, pick.commit)
        for problem in await asyncio.gather(wiped, made, return_exceptions=True):
            if problem:
                raise problem
        if included:
            await copy_included(included, path)
        self.locks.write(path, Taken(branch, run))
        await Git(path)("symbolic-ref", "-m", "fleet: start", "HEAD", f"refs/heads/{branch}")

    async def _seize(self, path: Path, in_use: InUse) -> bool:
        """Lock a slot that is to be returned; False if its folder is already gone."""
        if not self._slots.has(path):
            raise WorkspaceTrouble(
                f"{path} is not a worktree of the pool", hint="nothing was touched"
            )
        async with held(self._lock):
            listed = await self._slots.listed()
            if path not in (each.path for each in self._slots.usable(listed)):
                self.locks.drop(path)
                return False
            is_ours = path in self.locks
            if path in await in_use() or not self.locks.take(path):
                raise Occupied(f"{path} is in use", hint="try again when its agent has ended")
        if not is_ours:
            await asyncio.to_thread(kill_tagged, self.locks.taken(path).run, tag_of(path))
        return True
