"""The files and the index of a checkout, moved from one commit to another, or put back.

A swap holds the checkout's own `index.lock`, so that no git command of the user interferes, and the
lock's text is the journal's, so that a lock left behind shows whose it is. Git writes the files and
a draft of the index; then the branch is locked; then the draft becomes the index, and the old index
is kept; then the branch moves, and the lock is removed. The index comes first, because `git
commit` reads the branch and then the index before it tries the lock: with the new branch and the
old index it would revert what has just landed. One that read the old branch fails in the end, when
it tries to move it. Nobody else can move a locked branch, so the new index stays valid.

If it is killed at any point, this is what can be left, and what `finish_or_undo` does with it:

- no lock of ours: nothing was started, or everything is done, or the user removed the lock and took
  over the checkout. Nothing is touched.
- HEAD is not at `new`: the branch did not move. The files go back to `old`.
- HEAD is at `new`: the files and the index go forward to `new`.

Only paths that differ between the two commits are considered, and of these only what is provably
ours is replaced: the content of one of the two commits, or the beginning of `new`'s (git was killed
while it wrote the file). Anything else is the user's and stays as it is, as an edit.
"""

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePath
from typing import NamedTuple

from codefleet.runner.git import branch
from codefleet.runner.git.git import Done, Git, failed
from codefleet.runner.git.journal import Journal, Move
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.lookup import commit_at


class Side(NamedTuple):
    """One of the two commits: the paths it has, and those whose files differ from it."""

    has: frozenset[str]
    differs: frozenset[str]

    def matches(self, path: str, present: bool) -> bool:
        return path not in self.differs if path in self.has else not present


class Swap:
    """One move of one checkout."""

    def __init__(self, git: Git, move: Move, journal: Journal) -> None:
        self.git = git
        self.root = git.folder
        self.move = move
        self.journal = journal
        folder = git_dir(self.root)
        self.index = folder / "index"
        self.lock = folder / "index.lock"
        self.draft = folder / f"index.{move.new[:16]}"
        self._before = self.draft.with_name(f"{self.draft.name}.before")
        self._text = self.draft.with_name(f"{self.draft.name}.text")
        self._seen: tuple[int, int] | None = None

    def begin(self) -> None:
        """Copy the index as it was before this move, to work on."""
        self._forget_draft()
        self._seen = _identity(self.index)
        if self._seen:
            source = self._before if self._before.exists() else self.index
            shutil.copy2(source, self.draft)  # with its mtime: git's racy-edit check needs it

    def take_lock(self) -> bool:
        """Lock the index, unless somebody has locked it, or changed it since `begin`."""
        self._text.write_text(self.move.json(), encoding="utf-8")
        try:
            self.lock.hardlink_to(self._text)  # with its text, atomically
        except FileExistsError:
            return False
        if _identity(self.index) == self._seen:
            return True
        self.lock.unlink()
        return False

    def has_lock(self) -> bool:
        try:
            return self.lock.read_text(encoding="utf-8") == self.move.json()
        except (FileNotFoundError, UnicodeDecodeError):
            return False

    async def forward(self) -> str | None:
        """Move files, index and branch to `new`, or return why not; then call `finish_or_undo`."""
        done = await self._run("read-tree", "-m", "-u", self.move.old, self.move.new)
        if done.code:
            return f"git cannot move the files of {self.root} now: {done.err}"
        if why := await branch.move(self.git, self.move, self.journal.lock, self._show):
            return why
        if await self._is_at_new():
            self._unlock()
        return None

    async def finish_or_undo(self) -> None:
        """Finish or undo this move, from whatever state it was left in."""
        if self.has_lock():
            await self._finish_or_undo_files()
        self._forget_draft()
        self._before.unlink(missing_ok=True)

    def env(self) -> dict[str, str]:
        return {"GIT_INDEX_FILE": str(self.draft), "GIT_OPTIONAL_LOCKS": "1"}

    async def _finish_or_undo_files(self) -> None:
        self.begin()
        if (await self._run("diff-index", "--cached", "--quiet", self.move.new)).code == 0:
            self._unlock()  # nothing else was left to do
            return
        old, new = await self._side(self.move.old), await self._side(self.move.new)
        target = new if await self._is_at_new() else old
        await self._draft_at(self.move.new if target is new else self.move.old)
        astray = [path for path in sorted(old.has | new.has) if not self._is_at(target, path)]
        ours = [path for path in astray if await self._is_ours(path, old, new)]
        for path in ours:
            self._remove(path)
        await self._write_out(path for path in ours if path in target.has and self._is_free(path))
        self._publish()

    async def _side(self, commit: str) -> Side:
        """Compare the files with a commit, on the paths that the move concerns."""
        not_added_or_not_deleted = "a" if commit == self.move.old else "d"
        changed = await self._diff(f"--diff-filter={not_added_or_not_deleted}")
        await self._draft_at(commit)
        listed = await self.git(
            "diff-files", "-z", "--name-only", "--ignore-submodules=all", env=self.env()
        )
        return Side(changed, changed & _names(listed))

    async def _diff(self, which: str) -> frozenset[str]:
        words = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--ignore-submodules=all")
        return _names(await self.git(*words, which, self.move.old, self.move.new))

    async def _draft_at(self, commit: str) -> None:
        """Draft the index for a commit, regardless of the files."""
        self.begin()
        await self.git("read-tree", "-i", "-m", self.move.old, commit, env=self.env())
        await self._run("update-index", "-q", "--refresh")

    def _is_at(self, side: Side, path: str) -> bool:
        return side.matches(path, self._is_present(path))

    async def _is_ours(self, path: str, *sides: Side) -> bool:
        """Is there nothing of the user's at this path?"""
        if not self._is_present(path):
            return True
        if any(path in side.has and self._is_at(side, path) for side in sides):
            return True
        file = self.root / path
        if path not in sides[-1].has or file.is_symlink():
            return False
        whole = await self._run("cat-file", "--filters", f"{self.move.new}:{path}")
        return whole.out.encode(errors="surrogateescape").startswith(file.read_bytes())

    def _is_present(self, path: str) -> bool:
        """Is there a file at this path itself, not behind a link?"""
        file = self.root / path
        if any(folder.is_symlink() for folder in self._folders(path)):
            return False
        return file.is_symlink() or (file.exists() and not file.is_dir())

    def _is_free(self, path: str) -> bool:
        """Can a file be written here without replacing something of the user's?"""
        file, folders = self.root / path, self._folders(path)
        if file.exists() or any(spot.is_symlink() for spot in (file, *folders)):
            return False
        return all(folder.is_dir() for folder in folders if folder.exists())

    def _folders(self, path: str) -> list[Path]:
        """The folders above a file, nearest first, without the checkout's root."""
        return [self.root / above for above in PurePath(path).parents][:-1]

    def _remove(self, path: str) -> None:
        if self._is_present(path):
            (self.root / path).unlink()
            with suppress(OSError):  # stops at a folder that is not empty
                for folder in self._folders(path):
                    folder.rmdir()

    async def _write_out(self, paths: Iterable[str]) -> None:
        names = "".join(f"{path}\0" for path in paths)
        words = ("checkout-index", "--quiet", "--index", "-z", "--stdin")
        done = await self._run(*words, stdin=names)
        if done.code:
            raise failed(self.root, words, done)

    async def _run(self, *words: str, stdin: str | None = None) -> Done:
        """Run git on the draft, under the journal's lock; raises if it is killed."""
        lock = [self.journal.lock]
        done = await self.git.run(*words, stdin=stdin, env=self.env(), holds=lock)
        if done.code < 0:
            raise failed(self.root, words, done)
        return done

    async def _is_at_new(self) -> bool:
        return await commit_at(self.git, "HEAD") == self.move.new

    def _show(self) -> None:
        """Make the draft the index; the old one is kept until the branch has moved."""
        self._before.unlink(missing_ok=True)
        if self.index.exists():
            self._before.hardlink_to(self.index)
        self.draft.replace(self.index)

    def _publish(self) -> None:
        self.draft.replace(self.index)
        self._unlock()

    def _unlock(self) -> None:
        self._before.unlink(missing_ok=True)  # first: without it, only the lock remains
        self.lock.unlink()

    def _forget_draft(self) -> None:
        for file in (self.draft, self._text, self.draft.with_name(f"{self.draft.name}.lock")):
            file.unlink(missing_ok=True)


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split("\0")) - {""}


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        seen = file.stat()
    except FileNotFoundError:
        return None
    return seen.st_ino, seen.st_mtime_ns
