"""Is the file that is open still the store? It may be deleted or replaced while it is open.

SQLite would not notice: it writes on into a file that nobody else can see. So the files at the
store's path are compared with those that were opened, at every commit and every reading. What the
lost file holds can still be read, and is saved for `fleet import`.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from codefleet.domain.errors import StoreGone

Identity = tuple[int, int]


class Presence:
    """The files of an open store as they were when it was opened."""

    def __init__(self, path: Path, everything: Iterable[str]) -> None:
        """`everything` are the lines of an export, read only when the store is lost."""
        self._path = path
        self._everything = everything
        self._beside = [path.with_name(f"{path.name}-{kind}") for kind in ("wal", "shm")]
        self._known: dict[Path, Identity] = {}
        self._lost: StoreGone | None = None
        self.confirm()

    def confirm(self) -> None:
        """Refuse to go on once the store, or a file that belongs to it, is another or gone."""
        self.look(self._path, *self._beside)

    def look(self, *files: Path) -> None:
        """The same for some of its files; the store alone if none is named."""
        if self._lost:
            raise self._lost
        for file in files or (self._path,):
            found = _identity(file)
            if found is not None and file not in self._known:
                self._known[file] = found
            elif found != self._known.get(file):
                self._lost = self._gone(file, replaced=found is not None)
                raise self._lost

    def _gone(self, file: Path, *, replaced: bool) -> StoreGone:
        what = "replaced by another file" if replaced else "deleted"
        problem = f"the store's file {file} was {what} while it was in use"
        rescued = self._rescued()
        if rescued is None:
            return StoreGone(problem, hint="restore it from a backup, or begin with `fleet init`")
        remedy = "`fleet reset --yes`" if replaced else "`fleet init`"
        return StoreGone(
            f"{problem}; all that it held is saved in {rescued}",
            hint=f"agents work on without a runner; to go on: {remedy}, `fleet import {rescued}`",
        )

    def _rescued(self) -> Path | None:
        """Save what can still be read, once for all processes; None when that is impossible."""
        number = self._known.get(self._path, (0, 0))[1]
        target = self._path.with_name(f"{self._path.name}-rescued-{number}.jsonl")
        draft = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            if not target.exists():
                with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                    file.writelines(f"{line}\n" for line in self._everything)
                draft.replace(target)
        except Exception:  # whatever is wrong with it, the loss itself is to be told
            draft.unlink(missing_ok=True)
            return None
        return target


def _identity(file: Path) -> Identity | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - at every commit, for half of the time
    except OSError:
        return None
    return found.st_dev, found.st_ino


def lines(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Rows as `fleet export` writes them."""
    return (f'{{"kind":"{kind}","body":{body}}}' for kind, body in rows)
