"""The open file: how it is created, opened and queried."""

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

from codefleet.domain.errors import StoreTrouble
from codefleet.store import statements
from codefleet.store.sqlite import rows, schema
from codefleet.store.sqlite.trouble import in_words, is_busy

HERE = Path(__file__).parent
OPENING_S = 10.0

_PARAMETER = re.compile(r":(\w+)")
_SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}

Durability = Literal["full", "normal"]
Values = Mapping[str, Any]
NO_VALUES: Values = {}


class Database:
    """One connection, and the named statements to send over it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection
        self._statements = statements.read(HERE / "queries.sql")
        self._known: dict[str | tuple[str, ...], _Statement] = {}
        self._version = 0

    def run(self, name: str, values: Values = NO_VALUES) -> sqlite3.Cursor:
        """Send one statement."""
        text, in_order = self._known.get(name) or self._learn(name, (name,))
        return self.connection.execute(text, in_order(values))

    def run_many(self, name: str, rows: Iterable[Values]) -> None:
        """Send one statement once for each row."""
        text, in_order = self._known.get(name) or self._learn(name, (name,))
        self.connection.executemany(text, map(in_order, rows))

    def run_joined(self, names: tuple[str, ...], values: Values) -> sqlite3.Cursor:
        """Send a head with its filters and its order, and those of the values that they use."""
        text, in_order = self._known.get(names) or self._learn(names, names)
        return self.connection.execute(text, [*map(rows.plain, in_order(values))])

    def _learn(self, key: str | tuple[str, ...], names: tuple[str, ...]) -> "_Statement":
        learned = self._known[key] = _statement(self._statements.joined(*names))
        return learned

    def run_each(self, name: str) -> None:
        """Send the several statements under one name."""
        for statement in self._statements[name].split(";"):
            self.connection.execute(statement)

    def version(self) -> int:
        """A number that changes once another connection has committed."""
        try:
            (self._version,) = self.connection.execute("PRAGMA data_version").fetchone()
        except sqlite3.OperationalError as error:
            if not is_busy(error):  # busy: a crash is being cleaned up
                raise
        return self._version

    def again(self) -> "Database":
        """A second connection to the same file, for a long read."""
        return Database(self.path, _connected(self.path))

    def close(self) -> None:
        self.connection.close()


def opened(path: Path, *, durability: Durability, create: bool) -> Database:
    """Open the file; create and upgrade it if necessary."""
    with in_words(path):
        if not path.exists():
            _made(path, create)
        connection = _connected(path)
        try:
            schema.refuse_strange(path, connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[durability]}")
            # Without it, macOS leaves a commit in the disk's own memory; elsewhere it does nothing.
            connection.execute(f"PRAGMA fullfsync = {int(durability == 'full')}")
            connection.execute("PRAGMA foreign_keys = ON")
            schema.brought_up_to_date(connection)
            # From here on nothing waits inside SQLite: that would block the whole event loop.
            connection.execute("PRAGMA busy_timeout = 0")
        except BaseException:
            connection.close()
            raise
    return Database(path, connection)


def _made(path: Path, create: bool) -> None:
    if not create:
        raise StoreTrouble(f"there is no store at {path}", hint="run `fleet init`")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Created by us and not by SQLite, so that it is private from the start.
    path.touch(mode=0o600)


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=OPENING_S, isolation_level=None, cached_statements=256)


class _Statement(NamedTuple):
    """A statement with numbered parameters, and a function that puts the values in order.

    With names, the driver creates and looks up a text for every parameter of every call.
    """

    text: str
    in_order: Callable[[Values], Sequence[Any]]


def _statement(text: str) -> _Statement:
    plain, names = statements.numbered(text, _PARAMETER, "?")
    match names:
        case []:
            return _Statement(plain, lambda values: ())
        case [name]:
            return _Statement(plain, lambda values: (values[name],))
        case _:
            return _Statement(plain, itemgetter(*names))
