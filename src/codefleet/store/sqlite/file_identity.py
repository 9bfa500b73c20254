"""Is the open file still the store? It may be deleted or replaced while it is open.

SQLite would not notice: it continues writing to a file that nobody else can see. So the files at
the store's path are compared with those that were opened, at every commit and every read. The
contents of the lost file can still be read, and are saved for `fleet import`.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from codefleet.domain.errors import StoreGone

Identity = tuple[int, int]


class Presence:
    """The files of an open store as they were when it was opened."""

    def __init__(self, path: Path, everything: Iterable[str]) -> None:
        """`everything` are the lines of an export, read only if the store is lost."""
        self._path = path
        self._everything = everything
        self._file = str(path)  # looked up at every read, and a path is slow to compare
        self._files = (self._file, *(f"{path}-{kind}" for kind in ("wal", "shm")))
        self._known: dict[str, Identity] = {}
        self._lost: StoreGone | None = None
        self.confirm()

    def confirm(self) -> None:
        """Refuse to continue once the store, or a file of it, was replaced or deleted."""
        self.look(*self._files)

    def look(self, *files: str) -> None:
        """The same for some of its files; only the store itself if none is named."""
        if self._lost:
            raise self._lost
        for file in files or (self._file,):
            found = _identity(file)
            if found is not None and file not in self._known:
                self._known[file] = found
            elif found != self._known.get(file):
                self._lost = self._gone(file, replaced=found is not None)
                raise self._lost

    def _gone(self, file: str, *, replaced: bool) -> StoreGone:
        what = "replaced by another file" if replaced else "deleted"
        problem = f"the store's file {file} was {what} while it was in use"
        rescued = self._rescued()
        if rescued is None:
            return StoreGone(problem, hint="restore a backup, or start over with `fleet init`")
        remedy = "`fleet reset --yes`" if replaced else "`fleet init`"
        return StoreGone(
            f"{problem}; its contents are saved in {rescued}",
            hint=f"agents work on without a runner; to recover: {remedy}, `fleet import {rescued}`",
        )

    def _rescued(self) -> Path | None:
        """Save what can still be read, once for all processes; None if that is impossible."""
        number = self._known.get(self._file, (0, 0))[1]
        target = self._path.with_name(f"{self._path.name}-rescued-{number}.jsonl")
        draft = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            if not target.exists():
                with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                    file.writelines(f"{line}\n" for line in self._everything)
                draft.replace(target)
        except Exception:  # whatever fails here, the loss itself must be reported
            draft.unlink(missing_ok=True)
            return None
        return target


def _identity(file: str) -> Identity | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - called at every commit, and twice as fast
    except OSError:
        return None
    return found.st_dev, found.st_ino


def lines(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Rows as `fleet export` writes them."""
    return (f'{{"kind":"{kind}","body":{body}}}' for kind, body in rows)
