"""A wire between a store and its server that a test can cut at the worst moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from pathlib import Path

from codefleet.store.postgres.store import PostgresStore
from tests import postgres

SOCKET = ".s.PGSQL.5432"
SYNC = b"S\x00\x00\x00\x04"
"""What a client sends to end a transaction that began implicitly."""
FLUSH = b"H\x00\x00\x00\x04"
"""What it sends to get responses in the middle of one."""
READY = b"Z\x00\x00\x00\x05I"
"""What the server sends when it has ended."""


class Cut(StrEnum):
    """When the wire breaks: before the commit reaches the server, or after it is made."""

    NEVER = "never"
    BEFORE = "before the server hears of it"
    AFTER = "after the server has answered"
    FROZEN = "nothing is heard any more, but nobody hangs up"
    LATE = "the server hears of it when it is told to, long after the client has hung up"


class Wire:
    """Forwards everything, and breaks once at the next commit when told to.

    `ways` counts how often somebody waited for a response.
    """

    def __init__(self, folder: Path) -> None:
        self._socket = folder / SOCKET
        self.cut = Cut.NEVER
        self.cuts = 0
        self.ways = 0
        self.goes_on = asyncio.Event()
        self.has_ended = asyncio.Event()

    async def serve(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, out = await asyncio.open_unix_connection(self._socket)
        is_committing = asyncio.Event()
        asks = asyncio.create_task(self._asks(near, back, out, is_committing))
        answers = asyncio.create_task(self._answers(far, back, is_committing))
        try:
            await asyncio.wait([asks, answers], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (asks, answers):
                task.cancel()
            for writer in (back, out):
                writer.close()
            for writer in (back, out):
                with suppress(OSError):
                    await writer.wait_closed()

    async def _asks(
        self,
        near: asyncio.StreamReader,
        back: asyncio.StreamWriter,
        out: asyncio.StreamWriter,
        is_committing: asyncio.Event,
    ) -> None:
        while heard := await near.read(65536):
            self.ways += heard.endswith((FLUSH, SYNC))
            cut = self.cut if heard.endswith(SYNC) else Cut.NEVER
            if cut in (Cut.BEFORE, Cut.FROZEN):
                out.write(heard.removesuffix(SYNC))
            if cut in (Cut.BEFORE, Cut.FROZEN, Cut.LATE):
                self._broke()
            if cut is Cut.BEFORE:
                return
            if cut is Cut.FROZEN:
                while await near.read(65536):
                    pass
                return
            if cut is Cut.LATE:
                back.close()
                await self.goes_on.wait()
            if cut in (Cut.AFTER, Cut.LATE):
                is_committing.set()
            out.write(heard)
            if cut is Cut.LATE:
                await self.has_ended.wait()

    async def _answers(
        self, far: asyncio.StreamReader, back: asyncio.StreamWriter, is_committing: asyncio.Event
    ) -> None:
        while said := await far.read(65536):
            if is_committing.is_set() and said.endswith(READY):
                if self.goes_on.is_set():
                    self.has_ended.set()
                else:
                    self._broke()
                return
            back.write(said)

    def _broke(self) -> None:
        self.cut = Cut.NEVER
        self.cuts += 1


@asynccontextmanager
async def wired(folder: Path) -> AsyncIterator[tuple[Wire, int]]:
    """A wire to the server in this folder, and the port at its near end."""
    wire = Wire(folder)
    server = await asyncio.start_server(wire.serve, "127.0.0.1", 0)
    try:
        yield wire, server.sockets[0].getsockname()[1]
    finally:
        server.close()


@asynccontextmanager
async def opened_at(address: str) -> AsyncIterator[PostgresStore]:
    """A store for a while."""
    opened = PostgresStore(address)
    try:
        yield opened
    finally:
        await opened.close()


@asynccontextmanager
async def over_a_wire() -> AsyncIterator[tuple[PostgresStore, Wire, str]]:
    """A store, the wire to its server that can be cut, and the address without the wire."""
    shared = postgres.shared()
    address = shared.fresh()
    _, _, options = address.partition("&")
    async with (
        wired(shared.folder) as (wire, port),
        opened_at(f"postgresql://fleet@127.0.0.1:{port}/postgres?{options}") as store,
    ):
        yield store, wire, address
