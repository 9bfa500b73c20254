"""What SQLite's errors mean to people: the one place that knows them."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codefleet.domain.errors import StoreTrouble

_BROKEN = (
    "the store {path} is damaged or is not a codefleet store",
    "move the file aside, then `fleet init` and `fleet import` a saved export",
)
_NO_ACCESS = (
    "the store {path} cannot be opened or written",
    "check that you own the file and its folder and may write to both",
)
_MEANING = {
    sqlite3.SQLITE_BUSY: (
        "the store {path} is busy: another process keeps writing to it",
        "try again; `fleet doctor` shows who uses it",
    ),
    sqlite3.SQLITE_FULL: (
        "the disk is full: cannot write to the store {path}",
        "free some disk space; nothing that was stored is lost",
    ),
    sqlite3.SQLITE_IOERR: (
        "the disk of the store {path} cannot be read or written",
        "check the disk and its free space; nothing that was stored is changed",
    ),
    sqlite3.SQLITE_NOTADB: _BROKEN,
    sqlite3.SQLITE_CORRUPT: _BROKEN,
    sqlite3.SQLITE_READONLY: _NO_ACCESS,
    sqlite3.SQLITE_CANTOPEN: _NO_ACCESS,
    sqlite3.SQLITE_PERM: _NO_ACCESS,
    sqlite3.SQLITE_AUTH: _NO_ACCESS,
}
_UNKNOWN = ("the store {path} cannot be used: {error}", "run `fleet doctor`")


def is_busy(error: sqlite3.Error) -> bool:
    """Does another connection hold the lock right now?"""
    return _code(error) == sqlite3.SQLITE_BUSY


def explained(error: sqlite3.Error, path: Path) -> StoreTrouble:
    """The same error, explained."""
    problem, hint = _MEANING.get(_code(error), _UNKNOWN)
    return StoreTrouble(problem.format(path=path, error=error), hint=hint)


def not_ours(path: Path) -> StoreTrouble:
    """The file belongs to another program."""
    problem, hint = _BROKEN
    return StoreTrouble(problem.format(path=path), hint=hint)


@contextmanager
def in_words(path: Path) -> Iterator[None]:
    """Explain every error of SQLite or of its file."""
    try:
        yield
    except sqlite3.Error as error:
        raise explained(error, path) from error
    except OSError as error:
        problem, hint = _NO_ACCESS
        raise StoreTrouble(problem.format(path=path), hint=hint) from error


def _code(error: sqlite3.Error) -> int:
    """The primary result code; the driver's own errors (a closed store) have none."""
    return getattr(error, "sqlite_errorcode", -1) & 0xFF


def moment() -> float:
    """How long to back off when someone else writes, in seconds.

    It is random, so that two processes do not collide again and again.
    """
    from random import uniform  # imported here, because it is slow and rarely needed

    return uniform(0.0005, 0.004)
