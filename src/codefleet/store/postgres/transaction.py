"""One open transaction: statements are put in line and sent together when an answer is wanted.

What is to be told is collected and appended at the very end: who appends holds up every other who
does until the commit, so nothing may come in between.
"""

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
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


@cache
def _statement(*parts: str) -> tuple[bytes, Sequence[str]]:
    text, names = numbered(STATEMENTS.joined(*parts), _PARAMETER, "$")
    return text.encode(), names


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
    """The named statements, said in one talk; and what the transaction tells."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._told: list[Event] = []

    def run(self, *names: str, **values: Any) -> Reply:
        """Put a statement in line; it is sent when the answer to it, or to another, is wanted."""
        text, wanted = _statement(*names)
        return self._talk.say(text, [values[name] for name in wanted])

    def insist(self, *names: str, many: int, **values: Any) -> None:
        """Put a write in line that changes so many rows, or else undoes the transaction."""
        self.run("insist_on", *names, "all_of_them", many=many, **values)

    async def rows(self, *names: str, **values: Any) -> list[Row]:
        """Send a statement and wait for its rows."""
        return await self.run(*names, **values).rows()

    async def in_turn(self, pieces: Iterable[T]) -> AsyncIterator[T]:
        """Pieces of what is to be sent, each of which is through before the next: what piles up on
        this side is sent ever more slowly."""
        for number, piece in enumerate(pieces):
            if number:
                await self.rows("nothing")
            yield piece

    def run_each(self, name: str) -> None:
        """Put the several statements in line that stand under one name."""
        for statement in STATEMENTS[name].split(";"):
            self._talk.say(statement.encode())

    def tell(self, events: Iterable[Event]) -> Told:
        """Append events when all else is done."""
        given = list(events)
        told = Told(given, len(self._told))
        self._told += given
        return told

    def finish(self, mark: UUID) -> Reply | None:
        """Leave the mark and append what is to be told, which wakes whoever waits for it.

        The answer begins with the last seq.
        """
        if not self._told:
            self.run("leave_mark", mark=mark)
            return None
        listed = rows.listed(map(rows.of_event, self._told))
        return self.run("add_event", rows=listed, many=len(self._told), mark=mark)

    @property
    def has_told(self) -> bool:
        return bool(self._told)

    def first_of(self, last: int) -> int:
        """The first seq of the transaction, from its last."""
        return last - len(self._told) + 1
