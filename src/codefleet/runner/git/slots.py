"""The slots of a pool on disk: which there are, which is free, and how a new one is made."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

from codefleet.runner.git.archive import keep
from codefleet.runner.git.git import Git
from codefleet.runner.git.head_log import own_heads
from codefleet.runner.git.lookup import commit_at
from codefleet.runner.git.slot_lock import SlotLocks, Taken
from codefleet.runner.git.worktree_list import Listed, worktrees

ADD = ("worktree", "add", "--quiet", "--detach", "--no-checkout")
REMOVE = ("worktree", "remove", "--force", "--force")  # twice: a killed git leaves it locked


class Slot(NamedTuple):
    """A worktree of the pool, the branch it is on if any, and the run that took it last."""

    path: Path
    branch: str | None
    run: str = ""
    holds: str = ""
    """The branch whose work is in it, though it may be detached."""


def is_work_of_another(slots: Iterable[Slot], commit: str, branch: str) -> bool:
    """Did git leave any slot with another branch's work at this commit?"""
    others = (each for each in slots if branch not in (each.branch, each.holds))
    return any(commit in own_heads(each.path) for each in others)


class Slots:
    """The numbered folders of one pool, each with a lock."""

    def __init__(self, git: Git, folder: Path, locks: SlotLocks) -> None:
        self._git, self._folder, self.locks = git, folder, locks

    def usable(self, listed: Sequence[Listed]) -> list[Slot]:
        """The worktrees among these that are slots and can be used."""
        return [
            self._slot(each)
            for each in listed
            if self.has(each.path) and (each.path / ".git").is_file()
        ]

    def _slot(self, listed: Listed) -> Slot:
        taken = self.locks.taken(listed.path)
        return Slot(listed.path, listed.branch, taken.run, taken.branch)

    def has(self, path: Path) -> bool:
        """Is this the folder of a slot?"""
        return path.parent == self._folder and path.name.isdecimal() and not path.is_symlink()

    def first_free(self, slots: Sequence[Slot], run: str, busy: Collection[Path]) -> Path | None:
        """Lock the tidiest slot that nobody uses."""
        paths = [each.path for each in slots if each.path not in busy or run == each.run != ""]
        for path in sorted(paths, key=self._tidiest_first):
            if path not in self.locks and self.locks.take(path):
                return path
        return None

    async def add(self, commit: str) -> Path:
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

    async def listed(self) -> list[Listed]:
        """The repository's worktrees, without slots whose folder was deleted, and with those that
        were cut off from git repaired."""
        whole = []
        for each in await worktrees(self._git):
            is_ours = each.path in self.locks
            if not self.has(each.path) or (each.path / ".git").is_file():
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
        if commit := await commit_at(self._git, gone.head):
            await keep(self._git.folder, commit, f"worktree-{gone.path.name}")
        await self._git(*REMOVE, str(gone.path))
        self.locks.write(gone.path, Taken())

    def _tidiest_first(self, path: Path) -> tuple[bool, int]:
        return not self.locks.taken(path).clean, int(path.name)


def _vacant(path: Path) -> bool:
    """Is there room for a new worktree? A killed git leaves an empty folder."""
    if path.is_dir() and not path.is_symlink():
        with suppress(OSError):
            path.rmdir()
    return not path.is_symlink() and not path.exists()
