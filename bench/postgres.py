"""The PostgreSQL store next to a raw loop on the same server, which really writes to disk."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from tests.postgres import Server

from bench.apart import RawApart
from bench.raw_postgres import RawPostgres, RawPostgresRuns
from bench.row import Row
from bench.store import AT_ONCE, BODY, RUN_BODY, Part, Stores, Times, parts, rows_of
from codefleet.store.postgres.store import PostgresStore

ROUNDS = 3
LARGEST = 1000


def measure(quick: bool) -> Iterator[Row]:
    """The parts of bench/store.py, smaller: here every commit waits for the disk."""
    server = Server.made("listen_addresses=''", "max_wal_size='2GB'")
    try:
        for part in parts(quick):
            yield from _rows(part, server, 1 if quick else ROUNDS)
    finally:
        server.remove()


def _rows(part: Part, server: Server, rounds: int) -> Iterator[Row]:
    size = min(part.size, LARGEST)
    times = [asyncio.run(_once(part, size, server)) for _ in range(rounds)]
    return rows_of(f"PostgreSQL: {part.name} ({size:,})", times, 1.5 if part.goal else None)


async def _once(part: Part, size: int, server: Server) -> Times:
    async with _stores(server) as stores:
        return await part.run(stores, size)


@asynccontextmanager
async def _stores(server: Server) -> AsyncIterator[Stores]:
    ours = await PostgresStore.open(server.fresh())
    raw = RawPostgres(server.fresh(), BODY)
    raw_runs = RawPostgresRuns(server.fresh(), BODY, RUN_BODY)
    apart = server.fresh()
    raw_apart = RawApart([RawPostgres(apart, BODY, new=not n) for n in range(AT_ONCE)])
    try:
        yield Stores(ours, raw, raw_runs, raw_apart)
    finally:
        raw_apart.close()
        raw_runs.close()
        raw.close()
        await ours.close()
