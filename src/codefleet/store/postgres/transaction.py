"""One open transaction: statements are sent without waiting for each answer (a pipeline).

What is to be told is collected and appended at the very end: who appends holds up every other who
does until the commit, so nothing may come in between.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from psycopg import AsyncCursor

from codefleet.domain.model import Event
from codefleet.store.postgres import rows
from codefleet.store.postgres.connection import Connection
from codefleet.store.statements import Statements

T = TypeVar("T")
Cursor = AsyncCursor[tuple[Any, ...]]

_HERE = Path(__file__).parent
STATEMENTS = Statements(
    "\n".join((_HERE / name).read_text(encoding="utf-8") for name in ("queries.sql", "locks.sql"))
)


@cache
def _text(*names: str) -> bytes:
    return STATEMENTS.joined(*names).encode()


class Told:
    """Events of one step, which get their seqs by the commit."""

    def __init__(self, events: Sequence[Event], before: int) -> None:
        self._events = events
        self._before = before

    def numbered(self, first: int) -> Sequence[Event]:
        """With their seqs, where `first` is the first one of the whole transaction."""
        start = first + self._before
        return [event.evolve(seq=start + n) for n, event in enumerate(self._events)]


class Transaction:
    """The named statements, sent over one connection; and what the transaction tells."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._told: list[Event] = []

    async def run(self, *names: str, **values: Any) -> Cursor:
        """Send a statement; its rows are waited for only when they are fetched."""
        return await self._connection.execute(_text(*names), values)

    async def rows(self, *names: str, **values: Any) -> list[tuple[Any, ...]]:
        """Send a statement and wait for its rows."""
        return await (await self.run(*names, **values)).fetchall()

    async def in_turn(self, pieces: Iterable[T]) -> AsyncIterator[T]:
        """Pieces of what is to be sent, each of which is through before the next: what piles up on
        this side is sent ever more slowly."""
        for number, piece in enumerate(pieces):
            if number:
                await self.rows("nothing")
            yield piece

    async def run_each(self, name: str) -> None:
        """Send the several statements that stand under one name."""
        for statement in STATEMENTS[name].split(";"):
            await self._connection.execute(statement.encode())

    def tell(self, events: Iterable[Event]) -> Told:
        """Append events when all else is done."""
        given = list(events)
        told = Told(given, len(self._told))
        self._told += given
        return told

    async def finish(self, mark: UUID) -> Cursor | None:
        """Leave the mark and append what is to be told, which wakes whoever waits for it.

        The answer begins with the last seq.
        """
        if not self._told:
            await self.run("leave_mark", mark=mark)
            return None
        listed = rows.listed(map(rows.of_event, self._told))
        return await self.run("add_event", rows=listed, many=len(self._told), mark=mark)

    @property
    def has_told(self) -> bool:
        return bool(self._told)

    def first_of(self, last: int) -> int:
        """The first seq of the transaction, from its last."""
        return last - len(self._told) + 1
