"""How a waiting reader learns of a write: the server notifies it (LISTEN, NOTIFY).

A look at the last seq now and then is the safety net while the connection is down, and for a pool
in between, which does not forward notifications.
"""

import asyncio
import contextlib

import psycopg

from codefleet.store.postgres.connection import Connection
from codefleet.store.postgres.connections import Connections, is_direct
from codefleet.store.postgres.transaction import STATEMENTS

LOOK_S = 0.5
AGAIN_S = 1.0


class Bell:
    """Rung after each commit of this store, and by the server after those of others."""

    def __init__(self, connections: Connections) -> None:
        """The connections should lead to the server itself."""
        self._connections = connections
        self._rings = 0
        self._rung = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None

    def ring(self) -> None:
        """Wake everyone who waits."""
        self._rings += 1
        self._rung.set()
        self._rung = asyncio.Event()

    def mark(self) -> int:
        """The number of rings so far, to wait for more."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        return self._rings

    async def wait(self, since: int, within: float) -> None:
        """Wait for a ring since the mark, but no longer than until it is time to look."""
        if self._rings == since:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(max(within, 0), LOOK_S)):
                    await self._rung.wait()

    async def close(self) -> None:
        """Wake everyone who still waits, and stop listening."""
        if self._listening:
            self._listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listening
        self.ring()

    async def _listen(self) -> None:
        while True:
            with contextlib.suppress(psycopg.Error):
                connection = await self._connections.made()
                try:
                    if not await is_direct(connection):
                        return
                    await self._hear(connection)
                finally:
                    await connection.close()
            await asyncio.sleep(AGAIN_S)

    async def _hear(self, connection: Connection) -> None:
        await connection.execute(STATEMENTS["listen"].encode())
        self.ring()  # for what happened before we listened
        async for _ in connection.notifies():
            self.ring()
