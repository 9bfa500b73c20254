"""One open transaction: statements are queued and sent together when a result is needed.

Events are collected and appended at the very end: whoever appends blocks every other appender until
the commit, so nothing may come in between.
"""

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from codefleet.domain.model import Event
from codefleet.store.postgres import rows
from codefleet.store.postgres.connection import Reply, Row, Talk
from codefleet.store.statements import Statements, numbered

T = TypeVar("T")

_HERE = Path(__file__).parent
STATEMENTS = Statements(
    "\n".join((_HERE / name).read_text(encoding="utf-8") for name in ("queries.sql", "locks.sql"))
)


_PARAMETER = re.compile(r"%\((\w+)\)s")
_ROWS = re.compile(r"json_to_recordset\(%\(rows\)s\) AS row \(([^)]*)\)")


class _Statement(NamedTuple):
    """A statement with numbered parameters, their names, and those that are columns of a row."""

    text: bytes
    names: Sequence[str]
    columns: Sequence[str] = ()


@cache
def _for_many(*parts: str) -> _Statement:
    text, names = numbered(STATEMENTS.joined(*parts), _PARAMETER, "$")
    return _Statement(text.encode(), names)


@cache
def _for_one(*parts: str) -> _Statement:
    """The same for a single row, whose values are parameters: the server need not parse a list, nor
    join one row to a table."""
    joined = STATEMENTS.joined(*parts)
    text, names = numbered(_ROWS.sub(_as_values, joined), _PARAMETER, "$")
    return _Statement(text.encode(), names, [name for name, _ in _columns(_ROWS.search(joined))])


def _as_values(found: re.Match[str]) -> str:
    columns = _columns(found)
    values = ", ".join(f"%({name})s::{kind}" for name, kind in columns)
    return f"(VALUES ({values})) AS row ({', '.join(name for name, _ in columns)})"


def _columns(found: re.Match[str] | None) -> list[list[str]]:
    return [column.split() for column in found[1].split(",")] if found else []


class Told:
    """Events of one step, which get their seqs at the commit."""

    def __init__(self, events: Sequence[Event], before: int) -> None:
        self._events = events
        self._before = before

    def numbered(self, first: int) -> Sequence[Event]:
        """The events with their seqs, where `first` is the first one of the whole transaction."""
        start = first + self._before
        return [event.evolve(seq=start + n) for n, event in enumerate(self._events)]


class Transaction:
    """The named statements, sent in one talk; and the events of the transaction."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._told: list[Event] = []

    def run(self, *names: str, **values: Any) -> Reply:
        """Queue a statement; it is sent when its result, or another, is needed."""
        statement = _for_many(*names)
        match values.get("rows"):
            case [row]:
                statement = _for_one(*names)
                values |= rows.single(row, statement.columns)
            case [*several]:
                values["rows"] = rows.listed(several)
        return self._talk.say(statement.text, [values[name] for name in statement.names])

    def insist(self, *names: str, many: int, **values: Any) -> None:
        """Queue a write that changes this many rows, or else undoes the transaction."""
        self.run("insist_on", *names, "all_of_them", many=many, **values)

    async def rows(self, *names: str, **values: Any) -> list[Row]:
        """Send a statement and wait for its rows."""
        return await self.run(*names, **values).rows()

    async def in_turn(self, pieces: Iterable[T]) -> AsyncIterator[T]:
        """Pieces of what is to be sent, each of which is done before the next: a growing queue on
        this side is sent more and more slowly."""
        for number, piece in enumerate(pieces):
            if number:
                await self.rows("nothing")
            yield piece

    def run_each(self, name: str) -> None:
        """Queue the several statements under one name."""
        for statement in STATEMENTS[name].split(";"):
            self._talk.say(statement.encode())

    def tell(self, events: Iterable[Event]) -> Told:
        """Append events when everything else is done."""
        given = list(events)
        told = Told(given, len(self._told))
        self._told += given
        return told

    def finish(self, mark: UUID) -> Reply | None:
        """Leave the mark and append the events, which wakes whoever waits for them.

        The result begins with the last seq.
        """
        if not self._told:
            self.run("leave_mark", mark=mark)
            return None
        told = [*map(rows.of_event, self._told)]
        return self.run("add_event", rows=told, many=len(told), mark=mark)

    @property
    def has_told(self) -> bool:
        return bool(self._told)

    def first_of(self, last: int) -> int:
        """The first seq of the transaction, from its last."""
        return last - len(self._told) + 1
