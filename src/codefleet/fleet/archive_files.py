"""The files of the archive: numbered, compressed JSON lines, each complete or absent.

A file is written and synced under a temporary name, and only then renamed. While its events may
still be in the store too, its name says so: the next call continues where a killed one stopped.
"""

import fcntl
import gzip
import heapq
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from codefleet.domain.errors import Refused, StoreTrouble
from codefleet.domain.model import Event

WHOLE = ".jsonl.gz"
MOVING = f".moving{WHOLE}"
PART = ".part"
NUMBERED = re.compile(r"events-(\d+)\..*gz")


class NewFile:
    """An archive file that does not count yet."""

    def __init__(self, folder: Path) -> None:
        numbers = [
            int(its[1]) for file in folder.iterdir() if (its := NUMBERED.fullmatch(file.name))
        ]
        self._target = folder / f"events-{max(numbers, default=0) + 1:05}{MOVING}"
        self._path = self._target.with_name(self._target.name + PART)
        private = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._raw = os.fdopen(private, "wb")
        self._lines = gzip.open(self._raw, "wt", encoding="utf-8")  # noqa: SIM115 - `keep` closes it

    def add(self, events: Sequence[Event]) -> None:
        self._lines.writelines(event.json() + "\n" for event in events)

    def keep(self) -> Path:
        """Sync it to disk under its real name."""
        self._lines.close()
        os.fsync(self._raw.fileno())
        self._raw.close()
        return _renamed(self._path, self._target)

    def drop(self) -> None:
        self._lines.close()
        self._raw.close()
        self._path.unlink()


def folder(home: Path) -> Path:
    """Where a fleet keeps its archive."""
    return home / "archive"


def drop_all(folder: Path) -> None:
    """Delete the whole archive, for a fleet that is reset."""
    if not folder.is_dir():
        return
    with held(folder):
        for file in folder.iterdir():
            if file.name.startswith("events-"):
                file.unlink()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock the archive; the folder is created if needed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused("another `fleet archive` is running", hint="wait until it ends") from None
        yield
    finally:
        os.close(handle)


def moving(folder: Path) -> Sequence[Path]:
    """Files whose events may still be in the store too."""
    return sorted(folder.glob(f"*{MOVING}"))


def moved(file: Path) -> Path:
    """Mark a file as the only place of its events; returns its final name."""
    return _renamed(file, file.with_name(file.name.removesuffix(MOVING) + WHOLE))


def events(files: Sequence[Path], *, task: str | None = None, after: int = 0) -> Iterator[Event]:
    """The events of some files in the order of `seq`, without duplicates."""
    last: Event | None = None
    for event in heapq.merge(*(_read(file, task) for file in files), key=lambda each: each.seq):
        if event.seq > after and event != last:
            yield event
        last = event


def _read(file: Path, task: str | None) -> Iterator[Event]:
    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                if task is None or f'"{task}"' in line:  # searching is cheaper than parsing
                    event = Event.from_json(line)
                    if task in (None, event.task):
                        yield event
    except (gzip.BadGzipFile, EOFError, zlib.error, ValueError) as error:
        raise StoreTrouble(
            f"the archive {file} is damaged: {str(error).splitlines()[0]}",
            hint="restore a copy of it, or move it elsewhere to read the others",
        ) from error


def _renamed(old: Path, new: Path) -> Path:
    old.rename(new)
    folder = os.open(new.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return new
