"""A store with a long history beside one with a hundredth of it: does it stay as quick?

Not part of a plain `python -m bench`, because it takes minutes and gigabytes: say its name.
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.cli import cold
from bench.history import EVENTS_EACH, RARE, History, Rows
from bench.history import Row as TableRow
from bench.row import Row
from bench.store import LEASE, SEATS, RealClock
from codefleet.domain.model import TaskId, instant
from codefleet.domain.scheduling import Want
from codefleet.fleet.core import UNFINISHED
from codefleet.ports import Store, TaskQuery
from codefleet.store.sqlite import rows
from codefleet.store.sqlite.store import SqliteStore
from codefleet.wiring import DATABASE

ROUNDS = 21
GOAL = 3.0
AN_HOUR = timedelta(hours=1)
AT_ONCE = 50_000


class Filled(NamedTuple):
    """A home whose store holds so many tasks, one of which has a story to read."""

    home: Path
    tasks: int
    example: TaskId


Question = Callable[[Store, TaskId], Awaitable[object]]


async def _search_open(store: Store, _: TaskId) -> None:
    assert await store.tasks(TaskQuery(states=UNFINISHED, text=RARE, limit=50)) is not None


async def _search_all(store: Store, _: TaskId) -> None:
    assert await store.tasks(TaskQuery(text=RARE, limit=50))


async def _claim(store: Store, _: TaskId) -> None:
    assert await store.claim(SEATS[:1], Want(), lease=LEASE)


QUESTIONS: dict[str, Question] = {
    "ready list, 50": lambda store, _: store.tasks(TaskQuery(ready=True, limit=50)),
    "counts by state": lambda store, _: store.counts(),
    "a task's last 50 events": lambda store, task: store.events(task=task, newest=True, limit=50),
    "the last 50 events of all": lambda store, _: store.events(newest=True, limit=50),
    "conflicts of the last hour": lambda store, _: store.conflicts(
        since=datetime.now(UTC) - AN_HOUR
    ),
    "text search, open tasks": _search_open,
    "text search, all tasks": _search_all,
    "claim": _claim,
}


def measure(quick: bool) -> Iterator[Row]:
    many, few = (10_000, 1_000) if quick else (1_000_000, 10_000)
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        small = _filled(Path(folder) / "small", few)
        large = _filled(Path(folder) / "large", many)
        yield from asyncio.run(_answers(small, large))
        yield _status(small, large)
        yield _size(small, large)


async def _answers(small: Filled, large: Filled) -> Sequence[Row]:
    stores = [SqliteStore.open(f.home / DATABASE, clock=RealClock()) for f in (large, small)]
    names = {name: f"SQLite: {name}" for name in QUESTIONS}
    try:
        return [
            await _row(names[name], ask, stores, (large, small)) for name, ask in QUESTIONS.items()
        ]
    finally:
        for store in stores:
            await store.close()


async def _row(name: str, ask: Question, stores: Sequence[Store], filled: Sequence[Filled]) -> Row:
    """Both are asked turn about, so that a busy machine is busy for both alike."""
    took: list[list[float]] = [[], []]
    for _ in range(1 + ROUNDS):
        for store, its, times in zip(stores, filled, took, strict=True):
            start = time.perf_counter()
            await ask(store, its.example)
            times.append((time.perf_counter() - start) * 1000)
    large, small = (median(times[1:]) for times in took)
    return Row(f"{name}, {filled[0].tasks:,} beside {filled[1].tasks:,}", large, small, "ms", GOAL)


def _status(small: Filled, large: Filled) -> Row:
    (ours, _), (few, _) = (cold(filled.home, "status") for filled in (large, small))
    return Row("fleet status from cold (goal: below 250 ms)", ours, few, "ms", None)


def _size(small: Filled, large: Filled) -> Row:
    ours, few = ((filled.home / DATABASE).stat().st_size / 1e6 for filled in (large, small))
    return Row(f"size, {large.tasks:,} tasks, {EVENTS_EACH} events each", ours, few, "MB", None)


def _filled(home: Path, many: int) -> Filled:
    path = home / DATABASE
    asyncio.run(SqliteStore.open(path, clock=RealClock()).close())
    history = History(many, Rows(rows.of_task, rows.of_run, rows.of_event, instant))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    ).fetchall()
    connection.execute("BEGIN IMMEDIATE")
    for name, _ in indexes:  # to sort once is quicker than to keep order all the time
        connection.execute(f"DROP INDEX {name}")
    for table in history.tables():
        _insert(connection, table.name, table.rows)
    for _, sql in indexes:
        connection.execute(sql)
    connection.execute("COMMIT")
    connection.close()
    return Filled(home, many, history.busiest)


def _insert(connection: sqlite3.Connection, table: str, given: Iterator[TableRow]) -> None:
    known = [
        row[1]
        for row in connection.execute(f"PRAGMA table_xinfo({table})")
        if row[6] == 0 and row[1] != "place"  # what the engine does not make itself
    ]
    statement = ""
    while some := list(islice(given, AT_ONCE)):
        columns = [name for name in known if name in some[0]]
        statement = statement or (
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        )
        connection.executemany(statement, ([row[name] for name in columns] for row in some))
