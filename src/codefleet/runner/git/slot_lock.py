"""The lock that makes one process the holder of a pooled folder.

It is a kernel lock on a file outside the folder, taken before anything in the folder is touched. A
keeper inherits it and holds it for as long as its agent lives, and so does every git that works in
the folder, whatever becomes of the runner. The file says what the folder was last taken for; only
the holder writes it.
"""

import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

OPEN = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
LONGEST = 4096
_HELD: dict[Path, int] = {}
"""The file descriptors of the locks that this process holds, by folder."""


def inherited(folder: Path) -> tuple[int, ...]:
    """The lock that a program in this folder must inherit, if this process holds it."""
    return (_HELD[folder],) if folder in _HELD else ()


class Taken(NamedTuple):
    """What a folder was last taken for; `clean` means that all work in it is saved elsewhere."""

    branch: str = ""
    """The branch whose work is in it; the next one only once that is saved."""
    run: str = ""
    clean: bool = False


class SlotLock:
    """A lock that is held until `close`, or until the last process that inherited it ends."""

    def __init__(self, file: Path, handle: int) -> None:
        self.file, self.handle = file, handle

    @classmethod
    def take(cls, file: Path) -> "SlotLock | None":
        """Take the lock now; None if another process holds it."""
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            lock = cls(file, os.open(file, OPEN, 0o600))
            try:
                fcntl.flock(lock.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                return None
            if lock.is_whole:
                return lock
            lock.close()  # the file was replaced meanwhile

    @property
    def is_whole(self) -> bool:
        """Is the locked file still the one that others would lock?"""
        with suppress(OSError):
            return os.path.samestat(os.fstat(self.handle), self.file.lstat())
        return False

    def write(self, taken: Taken) -> None:
        """Record what the folder is taken for."""
        line = json.dumps(taken).encode() + b"\n"
        os.pwrite(self.handle, line, 0)
        os.ftruncate(self.handle, len(line))

    def close(self) -> None:
        os.close(self.handle)


class SlotLocks:
    """The locks on one pool's folders, and which of them we hold."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ours: dict[Path, SlotLock] = {}

    def __contains__(self, path: Path) -> bool:
        return path in self._ours

    def take(self, path: Path) -> bool:
        """Take the lock on this folder without waiting; True if we hold it."""
        if path not in self._ours and (lock := SlotLock.take(self._file(path))):
            self._ours[path] = lock
            _HELD[path] = lock.handle
        return path in self._ours

    def is_held(self, path: Path) -> bool:
        """Does any process hold this folder?"""
        if path in self._ours:
            return True
        if lock := SlotLock.take(self._file(path)):
            lock.close()
        return lock is None

    def is_whole(self, path: Path) -> bool:
        """Is this folder ours, by a lock that others see?"""
        return path in self._ours and self._ours[path].is_whole

    def taken(self, path: Path) -> Taken:
        """What this folder was last taken for."""
        return last_taken(self._file(path))

    def write(self, path: Path, taken: Taken) -> None:
        """Record what a folder that we hold is taken for."""
        self._ours[path].write(taken)

    def handle(self, path: Path) -> int | None:
        """The file descriptor of our lock, for a keeper to inherit."""
        return self._ours[path].handle if path in self._ours else None

    def drop(self, path: Path) -> None:
        """Release a folder; its contents stay as they are."""
        if lock := self._ours.pop(path, None):
            _HELD.pop(path, None)
            lock.close()

    def drop_all(self) -> None:
        for path in [*self._ours]:
            self.drop(path)

    def _file(self, path: Path) -> Path:
        return self._folder / f"{path.name}.lock"


def last_taken(file: Path) -> Taken:
    """What a folder was last taken for; the holder may be gone."""
    try:
        with file.open("rb") as text:
            branch, run, clean = json.loads(text.read(LONGEST).partition(b"\n")[0])
    except (OSError, ValueError, TypeError):
        return Taken()
    return Taken(str(branch), str(run), clean is True)
