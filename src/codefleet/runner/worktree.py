"""A pool of worktrees per repository: each run gets a folder of its own, and most are reused.

Creating a worktree writes every file; reusing one writes only what differs. A slot is handed out in
this order, so that a kill at any point neither loses work nor leaves a slot in a false state:

    lock it  ->  save what is in it  ->  detach, mark clean  ->  wipe  ->  unmark, onto the branch
"""

import asyncio
import re
import time
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import Invalid, Workspace
from codefleet.runner.leftovers import living_in, sweep, tag_of
from codefleet.runner.repos import salvage, slot
from codefleet.runner.repos.git import Git
from codefleet.runner.repos.listing import Listed, worktrees
from codefleet.runner.repos.locks import drop_stale, held
from codefleet.runner.repos.own_branch import evict, save_own
from codefleet.runner.repos.seed import Seed, sow
from codefleet.runner.repos.slot_lock import SlotLocks, Taken
from codefleet.runner.repos.snapshot import snapshot

LEFT_BEHIND = "Work left in a worktree\n\nSaved by the fleet before the worktree was used again.\n"
ADD = ("worktree", "add", "--quiet", "--detach", "--no-checkout")
REMOVE = ("worktree", "remove", "--force", "--force")  # twice: a killed git leaves it locked
SLUG_LENGTH = 40
WAIT_FOR_HOLDER_S = 5.0
LOOK_AGAIN_S = 0.05

InUse = Callable[[], Awaitable[Collection[Path]]]
Restore = Callable[[Path], Awaitable[None]]
Renew = Callable[[], Awaitable[None]]


class Occupied(Workspace):
    """Another process holds the folder."""


class Slot(NamedTuple):
    """A worktree of the pool, the branch it is on if any, and the run that took it last."""

    path: Path
    branch: str | None
    run: str = ""


class Wanted(NamedTuple):
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
        self._folder = folder.resolve()
        self._lock = lock
        self.locks = SlotLocks(lock.parent / "slots" / folder.name)

    async def slots(self) -> list[Slot]:
        """Every worktree of the pool that can be used."""
        return self._usable(await worktrees(self._git))

    async def take(
        self,
        branch: str,
        start: str,
        *,
        in_use: InUse,
        run: str = "",
        keep: Sequence[str] = (),
        seed: Seed | None = None,
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
        wanted = Wanted(branch, start, run, tip, restore, renew)
        hopeless: set[Path] = set()
        patient_until = time.monotonic() + WAIT_FOR_HOLDER_S
        while True:
            async with held(self._lock):
                busy = {path.resolve() for path in await in_use()} | hopeless
                patient = time.monotonic() < patient_until
                pick = await self._pick(wanted, busy, patient=patient)
            if pick is None:
                await asyncio.sleep(LOOK_AGAIN_S)
                continue
            if pick.ready:
                await asyncio.to_thread(sweep, pick.was.run, tag_of(pick.path))
                return pick.path
            try:
                await self._prepare(pick, wanted, keep, seed)
            except BaseException as trouble:
                was = pick.was._replace(clean=self.locks.taken(pick.path).clean)
                self.locks.write(pick.path, was)
                self.locks.drop(pick.path)
                if pick.new or not isinstance(trouble, Workspace):
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

    async def release(self, path: Path) -> None:
        """Return a slot: save what it holds, free its branch, and let others take it."""
        if not await self._seize(path, _nothing):
            return
        try:
            await self._vacate(path, self.locks.taken(path).branch)
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
                    await evict(each.path)

    async def remove(self, path: Path, in_use: InUse = _nothing) -> None:
        """Remove a slot from the pool and from disk, after saving what it holds."""
        if not await self._seize(path, in_use):
            return
        try:
            await self._vacate(path, self.locks.taken(path).branch)
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
        raise Workspace(
            f"there is no commit {start!r} in {self._git.folder}",
            hint="a repository needs a first commit, and its trunk must exist",
        )

    async def _pick(self, wanted: Wanted, busy: Collection[Path], *, patient: bool) -> Pick | None:
        """Choose a slot and lock it; None to wait until the branch's own slot is released.

        The caller holds the pool's lock.
        """
        branch, tip = wanted.branch, wanted.tip
        listed = await self._mend(await worktrees(self._git))
        self._refuse_if_elsewhere(branch, listed)
        slots = self._usable(listed)
        for there in slots:
            was = self.locks.taken(there.path)
            if branch not in (there.branch, was.branch):
                continue
            is_ours = there.path in self.locks
            if not self.locks.take(there.path):
                if patient and was.branch == branch:
                    return None
                if there.branch == branch:
                    tip = await _taken_over(there.path, wanted, was) or tip
            elif await self._continues(there, wanted, was):
                return self._picked(there.path, wanted, "", ready=True)
            elif not is_ours:
                self.locks.drop(there.path)
        commit = tip or await self._begin(branch, wanted.start)
        path = self._first_free(slots, wanted.run, busy)
        if path:
            return self._picked(path, wanted, commit)
        return self._picked(await self._add(commit), wanted, commit, new=True)

    def _first_free(self, slots: Sequence[Slot], run: str, busy: Collection[Path]) -> Path | None:
        """Lock the tidiest slot that nobody uses."""
        paths = [each.path for each in slots if each.path not in busy or run == each.run != ""]
        for path in sorted(paths, key=self._tidiest_first):
            if path not in self.locks and self.locks.take(path):
                return path
        return None

    def _picked(
        self, path: Path, wanted: Wanted, commit: str, *, ready: bool = False, new: bool = False
    ) -> Pick:
        was = self.locks.taken(path)
        self.locks.write(path, Taken(wanted.branch, wanted.run, was.clean and not ready))
        return Pick(path, commit, was, ready, new)

    def _refuse_if_elsewhere(self, branch: str, listed: Sequence[Listed]) -> None:
        for each in listed:
            if each.branch == branch and not self._mine(each.path):
                raise Workspace(
                    f"{branch} is checked out in {each.path}",
                    hint="switch that checkout to another branch",
                )

    async def _continues(self, there: Slot, wanted: Wanted, was: Taken) -> bool:
        """Does this locked slot hold the branch's unfinished work?"""
        branch = wanted.branch
        if there.branch == branch:
            if was.branch in ("", branch):
                await _restored(there.path, wanted, was)
                return True
            await evict(there.path)  # an agent of another task checked it out
            return False
        if was.clean or await salvage.commit_at(self._git, f"refs/heads/{branch}") is None:
            return False
        await salvage.bring_home(there.path, branch)
        return True

    async def _add(self, commit: str) -> Path:
        """Create a new slot and lock it; a live agent may hold the number of a deleted one."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in (self._folder / str(number) for number in count(1)):
            if path in self.locks or not self.locks.take(path):
                continue
            try:
                if _vacant(path):
                    await self._git(*ADD, str(path), commit)
                    self.locks.write(path, Taken(clean=True))
                    return path
            except BaseException:
                self.locks.drop(path)
                raise
            self.locks.drop(path)
        raise AssertionError("there is always a next number")

    async def _prepare(
        self, pick: Pick, wanted: Wanted, keep: Sequence[str], seed: Seed | None
    ) -> None:
        path, branch, run = pick.path, wanted.branch, wanted.run
        if not pick.new:
            await self._end_leftovers(path, pick.was.run)
        if not pick.was.clean:
            await self._vacate(path, pick.was.branch)
            self.locks.write(path, Taken(branch, run, clean=True))
        if wanted.renew:
            await wanted.renew()
        # Concurrently, because git waits for the disk when it creates a branch.
        wiped = slot.wipe(path, pick.commit, keep)
        made = self._make_branch(branch, pick.commit)
        for problem in await asyncio.gather(wiped, made, return_exceptions=True):
            if problem:
                raise problem
        if seed:
            await sow(seed, path)
        self.locks.write(path, Taken(branch, run))
        await Git(path)("symbolic-ref", "-m", "fleet: start", "HEAD", f"refs/heads/{branch}")

    async def _end_leftovers(self, path: Path, run: str) -> None:
        """Kill what the last run left running in a slot; refuse a slot with any other process.

        That may be your shell or editor, which is not ours to kill. A git ends by itself soon.
        """
        await asyncio.to_thread(sweep, run, tag_of(path))
        until = time.monotonic() + WAIT_FOR_HOLDER_S
        while others := await asyncio.to_thread(living_in, path):
            if time.monotonic() > until or any(it.name != "git" for it in others):
                raise Occupied(f"{others[0].name} is running in {path}", hint="leave that folder")
            await asyncio.sleep(LOOK_AGAIN_S)

    async def _make_branch(self, branch: str, commit: str) -> None:
        """Set the branch to this commit; archive the commit it was at, if that would be lost."""
        ref = f"refs/heads/{branch}"
        there = await salvage.commit_at(self._git, ref)
        if there == commit:
            return
        if there and not await salvage.is_ancestor(self._git, there, commit):
            await salvage.archive(self._git.folder, salvage.label(branch), there)
        try:
            await salvage.set_branch(self._git, ref, "-m", "fleet: start", ref, commit, there or "")
        except Workspace as trouble:
            await refuse_without_room(self._git)
            if await salvage.commit_at(self._git, ref) != commit:
                raise Workspace(
                    f"cannot start {branch}: {trouble.problem}", hint="did it just move?"
                ) from trouble

    async def _vacate(self, path: Path, own: str) -> None:
        """Save everything in a slot and detach it from its branch.

        `own` is the branch that it was taken for: its work goes onto no other.
        """
        drop_stale(salvage.git_dir(path), path)
        if not slot.never_filled(path):
            await save_own(path, own, LEFT_BEHIND)
        head = await salvage.commit_at(Git(path), "HEAD")
        if head:
            await salvage.keep(path, head, salvage.label(own) or f"worktree-{path.name}")
        spare = head or await self._git("rev-parse", "HEAD")
        await Git(path)("update-ref", "--no-deref", "-m", "fleet: leave", "HEAD", spare)

    async def _seize(self, path: Path, in_use: InUse) -> bool:
        """Lock a slot that is to be returned; False if its folder is already gone."""
        if not self._mine(path):
            raise Workspace(f"{path} is not a worktree of the pool", hint="nothing was touched")
        async with held(self._lock):
            listed = await self._mend(await worktrees(self._git))
            if path not in (each.path for each in self._usable(listed)):
                self.locks.drop(path)
                return False
            is_ours = path in self.locks
            if path in await in_use() or not self.locks.take(path):
                raise Occupied(f"{path} is in use", hint="try again when its agent has ended")
        if not is_ours:
            await asyncio.to_thread(sweep, self.locks.taken(path).run, tag_of(path))
        return True

    async def _mend(self, listed: Sequence[Listed]) -> list[Listed]:
        """Forget slots whose folder was deleted, and repair those cut off from git."""
        whole = []
        for each in listed:
            is_ours = each.path in self.locks
            if not self._mine(each.path) or (each.path / ".git").is_file():
                whole.append(each)
            elif self.locks.take(each.path):  # otherwise its holder takes care of it
                if each.path.is_dir():
                    await self._git.run("worktree", "repair", str(each.path))
                    whole.append(each)
                else:
                    await self._strike_off(each)
                if not is_ours:
                    self.locks.drop(each.path)
        return whole

    async def _strike_off(self, gone: Listed) -> None:
        if commit := await salvage.commit_at(self._git, gone.head):
            await salvage.keep(self._git.folder, commit, f"worktree-{gone.path.name}")
        await self._git(*REMOVE, str(gone.path))
        self.locks.write(gone.path, Taken())

    def _usable(self, listed: Sequence[Listed]) -> list[Slot]:
        return [
            Slot(each.path, each.branch, self.locks.taken(each.path).run)
            for each in listed
            if self._mine(each.path) and (each.path / ".git").is_file()
        ]

    def _mine(self, path: Path) -> bool:
        return path.parent == self._folder and path.name.isdecimal() and not path.is_symlink()

    def _tidiest_first(self, path: Path) -> tuple[bool, int]:
        return not self.locks.taken(path).clean, int(path.name)


async def _taken_over(path: Path, wanted: Wanted, was: Taken) -> str | None:
    """Detach a slot that another process holds from the branch.

    If it was taken for this branch, return a commit with everything in it. Nothing there is wiped.
    """
    await _restored(path, wanted, was)
    await evict(path)
    if was.branch != wanted.branch:
        return None
    return await snapshot(path, LEFT_BEHIND, await salvage.identity(Git(path)))


async def _restored(path: Path, wanted: Wanted, was: Taken) -> None:
    """Undo what others did to the branch, if the worktree was taken for it."""
    if wanted.restore and was.branch in ("", wanted.branch):
        await wanted.restore(path)


async def refuse_without_room(git: Git) -> None:
    """Refuse a repository in which a branch named `fleet` blocks the fleet's own branches."""
    if await salvage.commit_at(git, salvage.OURS.rstrip("/")):
        raise Invalid(
            f"{git.folder} has a branch named fleet, beside which git allows no fleet/...",
            hint="rename it: git branch --move fleet NAME",
        )


def branch_name(task_id: str, title: str) -> str:
    """The branch for a task: `fleet/<id>-<title in plain letters>`, whatever the title is."""
    plain = unicodedata.normalize("NFKD", title[:1000]).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:SLUG_LENGTH].strip("-")
    return f"fleet/{task_id}-{slug or 'task'}"


def _vacant(path: Path) -> bool:
    """Is there room for a new worktree? A killed git leaves an empty folder."""
    if path.is_dir() and not path.is_symlink():
        with suppress(OSError):
            path.rmdir()
    return not path.is_symlink() and not path.exists()
