"""The store itself: every read, and the path of each write into the next commit."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from codefleet.domain.lifecycle import Claim, Seat
from codefleet.domain.model import Event
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.validation import no_text
from codefleet.ports import Clock, Uptime, Write
from codefleet.store.reading import Readings
from codefleet.store.sqlite import claims, file_identity, schema, steps, transfer
from codefleet.store.sqlite.commits import PATIENCE_S, Commits
from codefleet.store.sqlite.database import Database, Durability, opened
from codefleet.store.sqlite.monotonic import steady_time
from codefleet.store.sqlite.notify import Bell
from codefleet.store.sqlite.trouble import explained, in_words, is_busy, moment

T = TypeVar("T")


class SqliteStore(Readings):
    """The fleet's nouns in one SQLite file. Implements `codefleet.ports.Store`."""

    def __init__(self, database: Database, clock: Clock, steady: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock
        self._steady_time = steady
        self._bell = Bell(database.path, database.version)
        export = file_identity.lines(transfer.everything(database))
        self._presence = file_identity.Presence(database.path, export)
        self._commits = Commits(database, self._bell.ring, self._presence.confirm)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        clock: Clock,
        uptime: Callable[[], Uptime] | None = None,
        durability: Durability = "full",
        create: bool = True,
    ) -> "SqliteStore":
        """Open the store in this file; create and upgrade it if necessary.

        Without an `uptime`, leases use the clock too.
        """
        database = opened(path, durability=durability, create=create)
        if uptime is None:
            return cls(database, clock, clock.now)
        with in_words(path):
            return cls(database, clock, steady_time(database.connection, clock, uptime))

    async def close(self) -> None:
        """Refuse what still waits to be written and close the file."""
        self._commits.close()
        self._bell.close()
        self._database.close()

    async def write(self, step: Write) -> Sequence[Event]:
        return await self._commits.ask(lambda: steps.write(self._database, step))

    async def claim(
        self, seats: Sequence[Seat], want: ClaimFilter, *, lease: timedelta
    ) -> Sequence[Claim]:
        def step() -> Sequence[Claim]:
            # The clock is read under the lock: the wait for it must not shorten a lease.
            times = claims.Times(self._clock.now(), self._steady_time(), lease)
            return claims.claim(self._database, seats, want, times)

        return await self._commits.ask(step)

    async def changed(self, after: int, within: float) -> bool:
        loop = asyncio.get_running_loop()
        until = loop.time() + within
        with in_words(self._database.path):
            while True:
                mark = self._bell.mark()  # before reading, so that nothing is missed in between
                if await self.last_seq() > after:
                    return True
                if not await self._bell.wait(mark, until - loop.time()):
                    return False

    async def now(self) -> datetime:
        return self._clock.now()

    async def steady(self) -> datetime:
        return self._steady_time()

    async def forget_events(self, events: Sequence[Event]) -> int:
        return await self._commits.ask(lambda: steps.forget(self._database, events))

    async def export(self, *, moving: bool = False) -> AsyncIterator[tuple[str, str]]:
        # A connection of its own: one snapshot of everything, however long the reader takes.
        with in_words(self._database.path), closing(self._database.again()) as view:
            view.connection.execute("BEGIN")
            for row in transfer.everything(view, moving=moving):
                yield row

    async def load(self, rows: Sequence[tuple[str, str]]) -> None:
        from codefleet.store.export import parsed  # imported here, because it is rarely needed

        given = parsed(rows)
        await self._commits.ask(lambda: transfer.load(self._database, given))

    async def erase(self, event: Event) -> None:
        await self._commits.ask(lambda: transfer.erase(self._database, event))

    async def about(self) -> str:
        return f"SQLite {sqlite3.sqlite_version} in {self._database.path}"

    def _now(self) -> datetime:
        return self._clock.now()

    def _steady(self) -> datetime:
        return self._steady_time()

    async def _is_indexed(self) -> bool:
        return await self._patiently(lambda: schema.is_indexed(self._database.connection))

    @staticmethod
    def _sought(word: str, *, whole: bool) -> str:
        return f'"{word}"' if whole else f'"{word}"*'

    async def _rows(self, *names: str, **values: Any) -> list[Any]:
        def read() -> list[Any]:
            return self._database.run_joined(names, values).fetchall()

        return await self._patiently(read)

    async def _patiently(self, read: Callable[[], T]) -> T:
        """The result of a read, which waits for nothing except the cleanup after a crash."""
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + PATIENCE_S
        while True:
            try:
                self._presence.look()
                return read()
            except sqlite3.Error as error:
                if not is_busy(error) or loop.time() > give_up_at:
                    raise explained(error, self._database.path) from error
            except UnicodeEncodeError:
                raise no_text() from None
            await asyncio.sleep(moment())
