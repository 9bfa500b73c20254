"""The store next to well-known queue libraries on the same engine, in the same run.

Each is used as documented: it adds, claims and completes jobs that do nothing, and starts a job
that arrives while it waits. All jobs have the same text. A library that is not installed is
reported as missing; bench/requirements.txt lists them all.
"""

import asyncio
import tempfile
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple, Protocol

from tests.postgres import Server

from bench.queues_ours import Ours
from bench.queues_postgres import PgQueuer, Procrastinate
from bench.queues_sqlite import Huey, LiteQueue, PersistQueue, Threads
from bench.row import Row
from bench.store import RealClock
from codefleet.store.postgres.store import PostgresStore
from codefleet.store.sqlite.database import Durability
from codefleet.store.sqlite.store import SqliteStore

ROUNDS = 3
BULK = 1000
EIGHT = 8
PAUSE_S = 0.03


class Queue(Protocol):
    """What every queue can do."""

    async def add(self, many: int) -> None:
        """One by one."""

    async def add_bulk(self, many: int) -> None:
        """All at once, where supported."""

    async def work(self, many: int, workers: int) -> None:
        """Claim and complete this many jobs, which are already queued."""

    async def waits(self, many: int, pause_s: float) -> list[float]:
        """Seconds from adding a job to its start by a waiting worker, many times."""


class Kind(NamedTuple):
    """A queue: its name, the module it needs, how to create one, and ours to compare with."""

    name: str
    module: str
    fresh: Callable[[], AbstractAsyncContextManager[Queue]]
    beside: str | None = None


class Numbers(NamedTuple):
    """Microseconds per job, and milliseconds until a waiting worker starts."""

    add: float
    bulk: float
    one: float
    eight: float
    p50: float
    p99: float


WORDS = (
    *("add one by one", "add 1,000 at once", "claim + complete, 1 worker"),
    *("claim + complete, 8 workers", "idle until start, p50", "idle until start, p99"),
)
"""The label of each number."""


def measure(quick: bool) -> Iterator[Row]:
    """Ours next to each library; a missing library is only named."""
    server = Server.made("listen_addresses=''", "max_wal_size='2GB'")
    try:
        kinds = list(_present(_kinds(server)))
        rounds = [
            {kind.name: asyncio.run(_once(kind, 80 if quick else 200)) for kind in kinds}
            for _ in range(1 if quick else ROUNDS)  # in turns: a busy machine is busy for all
        ]
    finally:
        server.remove()
    for kind in kinds:
        if kind.beside:
            yield from _rows(kind, _medians(rounds, kind.beside), _medians(rounds, kind.name))


def _present(kinds: Iterable[Kind]) -> Iterator[Kind]:
    for kind in kinds:
        if find_spec(kind.module):
            yield kind
        else:
            print(f"{kind.name}: not installed; see bench/requirements.txt")


def _medians(rounds: Sequence[Mapping[str, Numbers]], name: str) -> Numbers:
    return Numbers(*map(median, zip(*(each[name] for each in rounds), strict=True)))


def _rows(kind: Kind, ours: Numbers, theirs: Numbers) -> Iterator[Row]:
    for word, our, their in zip(WORDS, ours, theirs, strict=True):
        unit = "ms" if word.startswith("idle") else "us"
        yield Row(f"{kind.name}: {word}", our, their, unit, 1.0)


def _kinds(server: Server) -> list[Kind]:
    full, normal, pg = "codefleet, full", "codefleet, normal", "codefleet, PostgreSQL"
    return [
        Kind(full, "codefleet", lambda: _our_sqlite("full")),
        Kind(normal, "codefleet", lambda: _our_sqlite("normal")),
        Kind("litequeue", "litequeue", lambda: _in_file(LiteQueue), normal),
        Kind("huey", "huey", lambda: _in_file(Huey), full),
        Kind("persist-queue", "persistqueue", lambda: _in_file(PersistQueue), full),
        Kind(pg, "psycopg", lambda: _our_postgres(server)),
        Kind("pgqueuer", "pgqueuer", lambda: _on_server(PgQueuer(server.fresh())), pg),
        Kind(
            *("procrastinate", "procrastinate"),
            *(lambda: _on_server(Procrastinate(server.fresh())), pg),
        ),
    ]


async def _once(kind: Kind, jobs: int) -> Numbers:
    async with kind.fresh() as queue:
        one_by_one = await _each(jobs, queue.add(jobs))
        worked = await _each(jobs, queue.work(jobs, 1))
        bulk = await _each(BULK, queue.add_bulk(BULK))
        by_eight = await _each(BULK, queue.work(BULK, EIGHT))
        waits = [1000 * each for each in await queue.waits(jobs // 8, PAUSE_S)]
    p99 = quantiles(waits, n=100, method="inclusive")[-1]
    return Numbers(one_by_one, bulk, worked, by_eight, median(waits), p99)


async def _each(many: int, work: Awaitable[None]) -> float:
    """Microseconds per job."""
    begin = time.perf_counter()
    await work
    return 1e6 * (time.perf_counter() - begin) / many


@asynccontextmanager
async def _our_sqlite(durability: Durability) -> AsyncIterator[Queue]:
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        path = Path(folder) / "fleet.db"
        store = SqliteStore.open(path, clock=RealClock(), durability=durability)
        yield Ours(store)
        await store.close()


@asynccontextmanager
async def _our_postgres(server: Server) -> AsyncIterator[Queue]:
    store = await PostgresStore.open(server.fresh())
    yield Ours(store)
    await store.close()


@asynccontextmanager
async def _in_file(library: Callable[[Path], Threads]) -> AsyncIterator[Queue]:
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        yield library(Path(folder) / "queue.db")


@asynccontextmanager
async def _on_server(library: Procrastinate | PgQueuer) -> AsyncIterator[Queue]:
    await library.open()
    yield library
    await library.close()
