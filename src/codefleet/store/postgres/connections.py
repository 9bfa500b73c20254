"""Connections to the server: as many as are used at once, kept for the next use.

No transaction depends on what an earlier one left in its connection, so pgbouncer may stand in
between.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from codefleet.domain.errors import StoreTrouble
from codefleet.store.postgres.connection import Connection
from codefleet.store.postgres.trouble import explained, is_contested, is_passing, place_of

MOST = 6
PATIENCE_S = 30.0
CONNECT_S = 10

_FIRST_WAIT_S = 0.05
_LONGEST_WAIT_S = 1.0
_SILENCE: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
"""After this many seconds and tries, a server that has vanished from the network counts as gone; or
after this many milliseconds if there is unacknowledged data: then there are no keepalives, and the
system alone would keep sending for a quarter of an hour."""


class Connections:
    """The connections to one database."""

    def __init__(self, address: str) -> None:
        self.place = place_of(address)
        self._address = address
        self._idle: list[Connection] = []
        self._writers: list[Connection] = []
        self._room = asyncio.Semaphore(MOST)
        self._is_closed = False

    async def made(self) -> Connection:
        """A new connection, owned by the caller."""
        connection = await Connection.connect(
            self._address,
            autocommit=True,
            prepare_threshold=None,  # see Kept
            connect_timeout=CONNECT_S,
            application_name="codefleet",
            client_encoding="utf8",
            **_SILENCE,
        )
        try:
            connection.is_direct = await is_direct(connection)
        except BaseException:
            await connection.close()
            raise
        return connection

    @asynccontextmanager
    async def one(self, *, to_write: bool = False) -> AsyncIterator[Connection]:
        """Borrow a connection. One that is set up for writing is not given to readers."""
        async with self._room:
            if self._is_closed:
                raise StoreTrouble(f"the store {self.place} is closed", hint="open it again")
            idle = (to_write and self._writers) or self._idle
            connection = idle.pop() if idle else await self.made()
            try:
                yield connection
            except psycopg.Error as error:
                if is_passing(error):  # the idle ones were lost with it
                    await self._let_go()
                raise
            finally:
                await self._put_back(connection)

    async def close(self) -> None:
        self._is_closed = True
        await self._let_go()

    def in_words(self, error: psycopg.Error) -> StoreTrouble:
        return explained(error, self.place)

    def patience(self) -> "Patience":
        return Patience(self.in_words)

    async def _let_go(self) -> None:
        idle = [*self._idle, *self._writers]
        self._idle, self._writers = [], []
        for connection in idle:
            await connection.close()

    async def _put_back(self, connection: Connection) -> None:
        if connection.closed:
            return
        if self._is_closed or connection.info.transaction_status is not TransactionStatus.IDLE:
            await connection.close()
        else:
            (self._writers if connection.is_for_writing else self._idle).append(connection)


async def is_direct(connection: Connection) -> bool:
    """Does the server itself answer? A pool in between reports a process id of its own, and may
    give every transaction to another process, which does not know the prepared statements."""
    asked = await connection.execute(b"SELECT pg_backend_pid()")
    return await asked.fetchone() == (connection.info.backend_pid,)


class Patience:
    """How long to wait for a server that is away: with longer and longer pauses, up to a bound."""

    def __init__(self, in_words: Callable[[psycopg.Error], StoreTrouble]) -> None:
        self._in_words = in_words
        self._wait = _FIRST_WAIT_S
        self._until = asyncio.get_running_loop().time() + PATIENCE_S

    async def wait_out(self, error: psycopg.Error) -> None:
        """Wait if the error may be temporary; raise it, explained, if not or if it lasts long."""
        late = asyncio.get_running_loop().time() > self._until
        if late or not (is_passing(error) or is_contested(error)):
            raise self._in_words(error) from error
        await asyncio.sleep(self._wait)
        self._wait = min(2 * self._wait, _LONGEST_WAIT_S)
