"""A store with a long history next to one with a hundredth of it: does it stay as fast?

Not part of a plain `python -m bench`, because it takes minutes and gigabytes: name it to run it.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psycopg
from tests.postgres import Server

from bench.cli import cold
from bench.filling import into_postgres, into_sqlite
from bench.history import COMMON, EVENTS_EACH, RARE, SOME
from bench.row import Row
from bench.store import LEASE, SEATS, RealClock
from codefleet.config import Config
from codefleet.domain.model import Conflict, TaskId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import UNFINISHED, State
from codefleet.fleet import Fleet
from codefleet.fleet.core import Core
from codefleet.ports import Store, TaskQuery
from codefleet.store.postgres.store import PostgresStore
from codefleet.store.sqlite.store import SqliteStore
from codefleet.wiring import DATABASE, LocalChecks

ROUNDS = 11
LONGEST_S = 10.0
GOAL = 3.0
AN_HOUR = timedelta(hours=1)


class Filled(NamedTuple):
    """A store with this many tasks, one of which has a long history to read."""

    place: str
    tasks: int
    example: TaskId


Question = Callable[[Store, TaskId], Awaitable[object]]


async def _claim(store: Store, _: TaskId) -> None:
    assert await store.claim(SEATS[:1], ClaimFilter(), lease=LEASE)


QUESTIONS: dict[str, Question] = {
    "ready list, 50": lambda store, _: store.tasks(TaskQuery(ready=True, limit=50)),
    "counts by state": lambda store, _: store.counts(),
    "the whole of `fleet status`": lambda store, _: _fleet(store).status(),
    "a task's last 50 events": lambda store, task: store.events(task=task, newest=True, limit=50),
    "the last 50 events of all": lambda store, _: store.events(newest=True, limit=50),
    "conflicts of the last hour": lambda store, _: store.records(
        Conflict, since=datetime.now(UTC) - AN_HOUR
    ),
    "similar tasks": lambda store, _: _fleet(store).search(f"Extract the {RARE}"),
    "search, open tasks, a rare word": lambda store, _: _search(store, RARE, UNFINISHED),
    "search, all tasks, a rare word": lambda store, _: _search(store, RARE),
    "search, open tasks, a word of one in nine": lambda store, _: _search(store, SOME, UNFINISHED),
    "search, all tasks, a word of one in nine": lambda store, _: _search(store, SOME),
    "search, open tasks, a word of all": lambda store, _: _search(store, COMMON, UNFINISHED),
    "search, all tasks, a word of all": lambda store, _: _search(store, COMMON),
    "search, all tasks, a rare and a common word": lambda store, _: _search(
        store, f"{COMMON} {RARE}"
    ),
    "search, all tasks, a word of none": lambda store, _: _search(store, "nowhere"),
    "claim": _claim,
}


async def _search(store: Store, text: str, states: Sequence[State] = ()) -> None:
    await store.tasks(TaskQuery(states=states, text=text, limit=50))


def measure(quick: bool) -> Iterator[Row]:
    many, few = (10_000, 1_000) if quick else (1_000_000, 10_000)
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        small = _in_file(Path(folder) / "small", few)
        large = _in_file(Path(folder) / "large", many)
        yield from asyncio.run(_answers("SQLite", large, small, _open_file))
        yield _status(large, small)
        yield _size("SQLite", many, _file_size(large), _file_size(small))
    server = Server.made("listen_addresses=''", "max_wal_size='8GB'", "shared_buffers='1GB'")
    try:
        small, large = (_on_server(server.fresh(), number) for number in (few, many))
        yield from asyncio.run(_answers("PostgreSQL", large, small, PostgresStore))
        yield _size("PostgreSQL", many, _database_size(large), _database_size(small))
    finally:
        server.remove()


async def _answers(
    engine: str, large: Filled, small: Filled, opened: Callable[[str], Store]
) -> Sequence[Row]:
    stores = opened(large.place), opened(small.place)
    try:
        return [
            Row(f"{engine}: {name}", *await _times(ask, stores, (large, small)), "ms", GOAL)
            for name, ask in QUESTIONS.items()
        ]
    finally:
        for store in stores:
            await store.close()


async def _times(
    ask: Question, stores: tuple[Store, Store], filled: tuple[Filled, Filled]
) -> tuple[float, float]:
    """Queries alternate between both, so that a busy machine affects both alike.

    What takes seconds is queried less often.
    """
    took: tuple[list[float], list[float]] = ([], [])
    until = time.perf_counter() + LONGEST_S
    while len(took[0]) < 2 or (len(took[0]) <= ROUNDS and time.perf_counter() < until):
        for store, its, times in zip(stores, filled, took, strict=True):
            start = time.perf_counter()
            await ask(store, its.example)
            times.append((time.perf_counter() - start) * 1000)
    return median(took[0][1:]), median(took[1][1:])


def _fleet(store: Store) -> Fleet:
    return Fleet(Core(store, Config(), Path(), LocalChecks()))


def _status(large: Filled, small: Filled) -> Row:
    (ours, _), (few, _) = (cold(Path(each.place).parent, "status") for each in (large, small))
    return Row("SQLite: `fleet status` from cold (goal: below 250 ms)", ours, few, "ms", None)


def _size(engine: str, tasks: int, large: int, small: int) -> Row:
    name = f"{engine}: size of {tasks:,} tasks with {EVENTS_EACH} events each"
    return Row(name, large / 1e6, small / 1e6, "MB", None)


def _in_file(home: Path, many: int) -> Filled:
    history = into_sqlite(home / DATABASE, many)
    return Filled(str(home / DATABASE), many, history.busiest)


def _open_file(place: str) -> Store:
    return SqliteStore.open(Path(place), clock=RealClock())


def _file_size(filled: Filled) -> int:
    return Path(filled.place).stat().st_size


def _on_server(address: str, many: int) -> Filled:
    return Filled(address, many, into_postgres(address, many).busiest)


def _database_size(filled: Filled) -> int:
    """All of its tables and their indexes."""
    relations = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r'"
    ours = f"{relations} AND relnamespace = current_schema()::regnamespace"
    with psycopg.connect(filled.place) as connection:
        ((size,),) = connection.execute(ours.encode()).fetchall()
    return int(size)
