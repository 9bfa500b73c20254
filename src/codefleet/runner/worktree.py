"""A pool of worktrees per repository: each run gets a folder of its own, and most are reused.

Making a worktree writes every file; reusing one writes what differs. A slot is handed out in this
order, so that being killed at any point neither loses work nor leaves a slot that lies:

    hold it  ->  save what is in it  ->  detach, mark clean  ->  wipe  ->  unmark, onto the branch
"""

import asyncio
import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import Invalid, Workspace
from codefleet.runner.repos import salvage, slot
from codefleet.runner.repos.git import Git
from codefleet.runner.repos.listing import Listed, worktrees
from codefleet.runner.repos.locks import drop_stale, held
from codefleet.runner.repos.seed import sow

LEFT_BEHIND = "Work left in a worktree\n\nSaved by the fleet before the worktree was used again.\n"
ADD = ("worktree", "add", "--quiet", "--detach", "--no-checkout")
REMOVE = ("worktree", "remove", "--force", "--force")  # twice: a killed git leaves it locked
SLUG_LENGTH = 40


class Slot(NamedTuple):
    """A worktree of the pool and the branch it is on; None when it is on no branch."""

    path: Path
    branch: str | None


class Pick(NamedTuple):
    """A slot for a branch that is to stand at `commit`; `was` is the branch it was for before."""

    path: Path
    commit: str
    ready: bool = False
    new: bool = False
    was: str = ""


class Pool:
    """The worktrees of one repository, shared by every process on this machine."""

    def __init__(self, repo: Path, folder: Path, lock: Path) -> None:
        self._git = Git(repo)
        self._folder = folder.resolve()
        self._lock = lock

    async def slots(self) -> list[Slot]:
        """Every worktree of the pool that can be used."""
        return self._usable(await worktrees(self._git))

    async def take(
        self,
        branch: str,
        start: str,
        *,
        in_use: Callable[[], Awaitable[Collection[Path]]],
        keep: Sequence[str] = (),
        seed: Path | None = None,
    ) -> Path:
        """A worktree on `branch`: the one already there, untouched, or a clean one.

        A new branch begins at `start`; an existing one is never moved. The slot stays with the
        caller until `release` or `remove`, or until the process ends and `in_use` leaves it out.
        """
        hopeless: set[Path] = set()
        while True:
            async with held(self._lock):
                busy = {path.resolve() for path in await in_use()} | hopeless
                pick = await self._pick(branch, start, busy)
            if pick.ready:
                return pick.path
            try:
                await self._prepare(pick, branch, keep, seed)
            except BaseException as trouble:
                async with held(self._lock):  # nobody picks by what was so before it was let go
                    slot.let_go(pick.path)
                if pick.new or not isinstance(trouble, Workspace):
                    raise
                hopeless.add(pick.path)  # it cannot be saved or wiped, so it stays as it is
            else:
                return pick.path

    async def release(self, path: Path) -> None:
        """Give a slot back: what it holds is saved, its branch is free, others may take it."""
        if await self._seize(path):
            await self._vacate(path, _held_for(path))
            slot.let_go(path)

    async def remove(self, path: Path) -> None:
        """Take a slot out of the pool and off the disk, after saving what it holds."""
        if not await self._seize(path):
            return
        await self._vacate(path, _held_for(path))
        async with held(self._lock):
            if (await self._git.run(*REMOVE, str(path))).code:
                slot.unlock_folders(path)
                await self._git(*REMOVE, str(path))

    async def _begin(self, branch: str, start: str) -> str:
        """The commit to check out: the branch's tip, or where the branch will begin."""
        names = f"refs/heads/{branch}^{{commit}}\n{start}^{{commit}}\n"
        found = await self._git("cat-file", "--batch-check", stdin=names)
        for words in map(str.split, found.splitlines()):
            if words[1:2] == ["commit"]:
                return words[0]
        raise Workspace(
            f"there is no commit {start!r} in {self._git.folder}",
            hint="a repository needs a first commit, and its trunk must exist",
        )

    async def _pick(self, branch: str, start: str, busy: Collection[Path]) -> Pick:
        """Choose a slot and hold it; the caller has the lock."""
        listed, commit = await asyncio.gather(worktrees(self._git), self._begin(branch, start))
        listed = await self._mend(listed)
        slots = self._usable(listed)
        self._refuse_if_elsewhere(branch, listed)
        for there in slots:
            if await self._continues(there, branch):
                slot.hold(there.path, branch)
                return Pick(there.path, commit, ready=True)
        free = [each.path for each in slots if each.path not in busy and not _taken(each.path)]
        path = min(free, key=_tidiest_first) if free else await self._add(commit)
        was = _held_for(path)
        slot.hold(path, branch)
        return Pick(path, commit, new=not free, was=was)

    def _refuse_if_elsewhere(self, branch: str, listed: Sequence[Listed]) -> None:
        for each in listed:
            if each.branch == branch and not self._mine(each.path):
                raise Workspace(
                    f"{branch} is checked out in {each.path}",
                    hint="switch that checkout to another branch, and the fleet goes on",
                )

    async def _continues(self, there: Slot, branch: str) -> bool:
        """Does this slot hold the branch's unfinished work?"""
        last = slot.held_by(there.path)
        if there.branch == branch:
            if last is None or last.branch in ("", branch):
                return True
            await salvage.step_off(there.path, last.branch)  # an agent of another task looks at it
            return False
        if last is None or last.branch != branch:
            return False
        if slot.is_clean(there.path):
            if last.is_live:
                raise Workspace(f"{branch} is being checked out already", hint="try again soon")
            return False
        if await salvage.commit_at(self._git, f"refs/heads/{branch}") is None:
            return False
        await salvage.bring_home(there.path, branch)
        return True

    async def _add(self, commit: str) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = next(each for n in count(1) if _vacant(each := self._folder / str(n)))
        await self._git(*ADD, str(path), commit)
        slot.mark_clean(path)
        return path

    async def _prepare(
        self, pick: Pick, branch: str, keep: Sequence[str], seed: Path | None
    ) -> None:
        path = pick.path
        if not slot.is_clean(path):
            await self._vacate(path, pick.was)
        # Side by side, because git waits for the disk when it makes a branch.
        wiped = slot.wipe(path, pick.commit, keep)
        made = self._make_branch(branch, pick.commit)
        for problem in await asyncio.gather(wiped, made, return_exceptions=True):
            if problem:
                raise problem
        if seed:
            await sow(seed, path)
        slot.unmark(path)
        await Git(path)("symbolic-ref", "-m", "fleet: start", "HEAD", f"refs/heads/{branch}")

    async def _make_branch(self, branch: str, commit: str) -> None:
        ref = f"refs/heads/{branch}"
        try:
            await salvage.set_branch(self._git, ref, "-m", "fleet: start", ref, commit, "")
        except Workspace as trouble:
            await refuse_without_room(self._git)
            if await salvage.commit_at(self._git, ref) != commit:
                raise Workspace(
                    f"cannot begin {branch}: {trouble.problem}", hint="did it just move?"
                ) from trouble

    async def _vacate(self, path: Path, own: str) -> None:
        """Save everything in a slot, leave its branch, and mark it clean.

        `own` is the branch that it was taken for: work left there goes onto no other.
        """
        drop_stale(salvage.git_dir(path), path)
        if own:
            await salvage.step_off(path, own)
        if not slot.never_filled(path):
            await salvage.salvage(path, LEFT_BEHIND)
        head = await salvage.commit_at(Git(path), "HEAD")
        if head:
            await salvage.keep(path, head, _archive_name(path))
        spare = head or await self._git("rev-parse", "HEAD")
        await Git(path)("update-ref", "--no-deref", "-m", "fleet: leave", "HEAD", spare)
        slot.mark_clean(path)

    async def _seize(self, path: Path) -> bool:
        """Hold a slot that is to end; False when its folder is gone already."""
        if not self._mine(path):
            raise Workspace(f"{path} is not a worktree of the pool", hint="nothing was touched")
        async with held(self._lock):
            listed = await self._mend(await worktrees(self._git))
            if path not in (each.path for each in self._usable(listed)):
                return False
            slot.hold(path, _held_for(path))
        return True

    async def _mend(self, listed: Sequence[Listed]) -> list[Listed]:
        """Forget slots whose folder was deleted, and tie broken ones to git again."""
        whole = []
        for each in listed:
            if self._mine(each.path) and not each.path.is_dir():
                if commit := await salvage.commit_at(self._git, each.head):
                    await salvage.keep(self._git.folder, commit, f"worktree-{each.path.name}")
                await self._git(*REMOVE, str(each.path))
                continue
            if self._mine(each.path) and not (each.path / ".git").is_file():
                await self._git.run("worktree", "repair", str(each.path))
            whole.append(each)
        return whole

    def _usable(self, listed: Sequence[Listed]) -> list[Slot]:
        return [
            Slot(each.path, each.branch)
            for each in listed
            if self._mine(each.path) and (each.path / ".git").is_file()
        ]

    def _mine(self, path: Path) -> bool:
        return path.parent == self._folder and path.name.isdecimal() and not path.is_symlink()


async def refuse_without_room(git: Git) -> None:
    """Refuse a repository in which a branch stands where the fleet's own would be."""
    if await salvage.commit_at(git, salvage.OURS.rstrip("/")):
        raise Invalid(
            f"{git.folder} has a branch named fleet, beside which git allows no fleet/...",
            hint="give it another name: git branch --move fleet NAME",
        )


def branch_name(task_id: str, title: str) -> str:
    """The branch for a task: `fleet/<id>-<title in plain letters>`, whatever the title is."""
    plain = unicodedata.normalize("NFKD", title[:1000]).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:SLUG_LENGTH].strip("-")
    return f"fleet/{task_id}-{slug or 'task'}"


def _held_for(path: Path) -> str:
    """The branch that a slot was taken for last; empty when it was let go since."""
    last = slot.held_by(path)
    return last.branch if last else ""


def _taken(path: Path) -> bool:
    last = slot.held_by(path)
    return last is not None and last.is_live


def _tidiest_first(path: Path) -> tuple[bool, int]:
    return not slot.is_clean(path), int(path.name)


def _vacant(path: Path) -> bool:
    """Can a new worktree stand here? An empty folder is what a killed git leaves."""
    if path.is_dir() and not path.is_symlink():
        with suppress(OSError):
            path.rmdir()
    return not path.is_symlink() and not path.exists()


def _archive_name(path: Path) -> str:
    last = slot.held_by(path)
    return salvage.label(last.branch) if last and last.branch else f"worktree-{path.name}"
