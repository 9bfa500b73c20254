"""Upgrading the file: numbered files, forward only, and the index of words next to them."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codefleet.domain import search
from codefleet.domain.errors import StoreTrouble
from codefleet.store import statements
from codefleet.store.sqlite import rows
from codefleet.store.sqlite.trouble import not_ours

OURS = int.from_bytes(b"flee")
"""The mark in the file's header that identifies a store."""

_HERE = Path(__file__).parent
_INDEX = _HERE / "text_index.sql"


def refuse_strange(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse what another program, or a later version of this one, has written."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and _pragma(connection, "application_id") != OURS:
        raise not_ours(path)
    if _pragma(connection, "user_version") > len(migrations()):
        raise StoreTrouble(
            f"the store {path} was written by a newer codefleet", hint="upgrade codefleet"
        )


def brought_up_to_date(connection: sqlite3.Connection) -> None:
    """Apply the migrations that the file lacks, and make the index of words if possible."""
    if _pragma(connection, "user_version") < len(migrations()):
        with _alone(connection):
            _migrate(connection)
    if is_indexed(connection) != can_index(connection):
        with _alone(connection):
            _mend_index(connection)


def migrations() -> list[Path]:
    """All steps from an empty file to the current version, in order."""
    return sorted((_HERE / "migrations").glob("*.sql"))


def is_indexed(connection: sqlite3.Connection) -> bool:
    """Is the index of words there and maintained?"""
    return _tells(connection, "is_kept")


def can_index(connection: sqlite3.Connection) -> bool:
    """Does this build of SQLite have what the index of words needs?"""
    return _tells(connection, "has_fts5")


@contextmanager
def _alone(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction under the lock of all writers."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _migrate(connection: sqlite3.Connection) -> None:
    connection.create_function("mark_of", 1, lambda body: search.mark(rows.task(body)))
    connection.create_function("words_of", 1, lambda body: search.kept(rows.task(body)))
    # Counted again under the lock: another process may have been first.
    for number, step in enumerate(migrations(), start=1):
        if number > _pragma(connection, "user_version"):
            _apply(connection, step.read_text(encoding="utf-8"))
            connection.execute(f"PRAGMA user_version = {number}")
    connection.execute(f"PRAGMA application_id = {OURS}")


def _mend_index(connection: sqlite3.Connection) -> None:
    """Make the index, or abandon it until a build comes that can rebuild it."""
    named = statements.read(_INDEX)
    if not can_index(connection):
        _apply(connection, named["leave_index"])
    elif not is_indexed(connection):  # asked again: another process may have been first
        _apply(connection, named["make_index"])
        _apply(connection, named["keep_index"])


def _tells(connection: sqlite3.Connection, name: str) -> bool:
    return bool(connection.execute(statements.read(_INDEX)[name]).fetchone()[0])


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    number: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return number


def _apply(connection: sqlite3.Connection, script: str) -> None:
    """Run a script inside the open transaction; the driver's `executescript` would end it."""
    statement = ""
    for line in f"{script};".splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
