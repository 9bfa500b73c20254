"""The store itself: every read, and the path of each write into the next commit."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import psycopg

from codefleet.domain.lifecycle import Claim, Seat
from codefleet.domain.model import Event
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.validation import no_text
from codefleet.ports import Clock, Write
from codefleet.store.export import parsed
from codefleet.store.postgres import claims, rows, schema, transfer
from codefleet.store.postgres.commits import Commits, What
from codefleet.store.postgres.connections import Connections
from codefleet.store.postgres.notify import Bell
from codefleet.store.postgres.steps import Answer
from codefleet.store.postgres.transaction import Transaction
from codefleet.store.postgres.trouble import place_of
from codefleet.store.reading import Readings


class PostgresStore(Readings):
    """The fleet's nouns in one PostgreSQL database. Implements `codefleet.ports.Store`.

    It is upgraded at the first use, or by `open`. Time is the server's; a test may pass another
    clock. If the address leads to a pool, notifications come over the `direct` address.
    """

    def __init__(
        self,
        address: str,
        *,
        clock: Clock | None = None,
        durability: str = "full",
        create: bool = True,
        direct: str = "",
    ) -> None:
        self._clock = clock
        self._create = create
        if direct:
            place_of(direct, setting="store_direct")
        self._connections = Connections(address)
        self._bell = Bell(Connections(direct) if direct else self._connections)
        self._commits = Commits(self._connections, self._bell.ring, is_quick=durability == "normal")
        self._is_ready = False
        self._opening = asyncio.Lock()

    @classmethod
    async def open(
        cls, address: str, *, durability: str = "full", create: bool = True, direct: str = ""
    ) -> "PostgresStore":
        """Open the store in this database; create and upgrade it if necessary."""
        store = cls(address, durability=durability, create=create, direct=direct)
        try:
            await store._ready()
        except BaseException:
            await store.close()
            raise
        return store

    async def close(self) -> None:
        """Refuse what still waits to be written and close the connections."""
        await self._commits.close()
        await self._bell.close()
        await self._connections.close()

    async def write(self, step: Write) -> Sequence[Event]:
        told: Sequence[Event] = await self._ask(step)
        return told

    async def claim(
        self, seats: Sequence[Seat], want: ClaimFilter, *, lease: timedelta
    ) -> Sequence[Claim]:
        if not seats:
            return ()
        given: Sequence[Claim] = await self._ask(claims.Asked(seats, want, lease, self._now()))
        return given

    async def changed(self, after: int, within: float) -> bool:
        loop = asyncio.get_running_loop()
        until = loop.time() + within
        while True:
            mark = self._bell.mark()  # before reading, so that nothing is missed in between
            if await self.last_seq() > after:
                return True
            if loop.time() >= until:
                return False
            await self._bell.wait(mark, until - loop.time())

    async def now(self) -> datetime:
        if self._clock:
            return self._clock.now()
        ((moment, _),) = await self._rows("some_expired", now=None)
        now: datetime = moment
        return now

    async def steady(self) -> datetime:
        """The server's clock too: the machines that share it have no other in common."""
        return await self.now()

    async def forget_events(self, events: Sequence[Event]) -> int:
        async def step(tx: Transaction) -> Answer:
            given = [{**rows.of_event(each), "seq": each.seq} for each in events]
            gone = len(await tx.rows("forget_event", rows=given))
            return lambda first: gone

        many: int = await self._ask(step)
        return many

    async def export(self, *, moving: bool = False) -> AsyncIterator[tuple[str, str]]:
        # A connection of its own: one snapshot of everything, however long the reader takes.
        await self._ready()
        try:
            connection = await self._connections.made()
            try:
                await connection.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                async for row in transfer.everything(connection, moving=moving):
                    yield row
            finally:
                await connection.close()
        except psycopg.Error as error:
            raise self._connections.in_words(error) from error

    async def load(self, rows: Sequence[tuple[str, str]]) -> None:
        given = parsed(rows)
        await self._ask(lambda tx: transfer.load(tx, given))

    async def erase(self, event: Event) -> None:
        await self._ask(lambda tx: transfer.erase(tx, event))

    async def about(self) -> str:
        ((version, _, _),) = await self._rows("server")
        return f"PostgreSQL {version.split()[0]} at {self._connections.place}"

    def _now(self) -> datetime | None:
        """A test's time, or None to use the server's."""
        return self._clock.now() if self._clock else None

    async def _is_indexed(self) -> bool:
        return True

    @staticmethod
    def _sought(word: str, *, whole: bool) -> str:
        return f"'{word}'" if whole else f"'{word}':*"

    async def _ready(self) -> None:
        if self._is_ready:
            return
        async with self._opening:
            if self._is_ready:
                return
            try:
                async with self._connections.one() as connection:
                    place = self._connections.place
                    await schema.brought_up_to_date(connection, place, create=self._create)
            except psycopg.Error as error:
                raise self._connections.in_words(error) from error
            self._is_ready = True

    async def _ask(self, what: What) -> Any:
        """Have something done in the next commit."""
        await self._ready()
        try:
            return await self._commits.ask(what)
        except UnicodeEncodeError:
            raise no_text() from None

    async def _rows(self, *names: str, **values: Any) -> list[Any]:
        """All rows of a query; waits for a server that is away."""
        await self._ready()
        given = {name: rows.plain(value) for name, value in values.items()}
        patience = self._connections.patience()
        while True:
            try:
                # The result comes with the end of the talk: a single round trip.
                async with self._connections.one() as connection, connection.talk() as talk:
                    reply = Transaction(talk).run(*names, **given)
                return await reply.rows()
            except psycopg.Error as error:
                await patience.wait_out(error)
            except UnicodeEncodeError:
                raise no_text() from None
