"""The PostgreSQL store beside a raw loop on the same server, which writes to disk in earnest."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from statistics import median

from tests.postgres import Server

from bench.raw_postgres import RawPostgres
from bench.row import Row
from bench.store import BODY, Part, Stores, Times, parts
from codefleet.store.postgres.store import PostgresStore

ROUNDS = 3
LARGEST = 1000


def measure(quick: bool) -> Iterator[Row]:
    """The parts of bench/store.py, smaller: here every commit waits for the disk."""
    server = Server.made("listen_addresses=''", "max_wal_size='2GB'")
    try:
        for part in parts(quick):
            yield _row(part, server, 1 if quick else ROUNDS)
    finally:
        server.remove()


def _row(part: Part, server: Server, rounds: int) -> Row:
    size = min(part.size, LARGEST)
    times = [asyncio.run(_once(part, size, server)) for _ in range(rounds)]
    goal = 1.5 if part.goal else None
    name = f"PostgreSQL: {part.name} ({size:,})"
    return Row(name, median(t.ours for t in times), median(t.raw for t in times), "us", goal)


async def _once(part: Part, size: int, server: Server) -> Times:
    async with _stores(server) as stores:
        return await part.run(stores, size)


@asynccontextmanager
async def _stores(server: Server) -> AsyncIterator[Stores]:
    ours = await PostgresStore.open(server.fresh())
    raw = RawPostgres(server.fresh(), BODY)
    try:
        yield Stores(ours, raw)
    finally:
        raw.close()
        await ours.close()
