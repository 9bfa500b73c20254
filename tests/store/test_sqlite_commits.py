"""Writes in the same turn of the event loop share a commit and nothing else."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codefleet.domain.errors import Duplicate, StoreTrouble
from codefleet.ports import TaskQuery, Write
from codefleet.store.sqlite import commits
from codefleet.store.sqlite.store import SqliteStore
from tests.store.samples import StillClock, add, event, ids, task


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "fleet.db", clock=StillClock())
    yield opened
    await opened.close()


@pytest.fixture
def other(tmp_path: Path, store: SqliteStore) -> sqlite3.Connection:
    """Another process on the same file."""
    return sqlite3.connect(tmp_path / "fleet.db", isolation_level=None)


async def test_writes_of_one_turn_are_one_commit(
    store: SqliteStore, other: sqlite3.Connection
) -> None:
    versions = [other.execute("PRAGMA data_version").fetchone()]
    writing = [asyncio.ensure_future(add(store, task(f"t{n}"))) for n in range(20)]
    while not all(one.done() for one in writing):
        versions.append(other.execute("PRAGMA data_version").fetchone())
        await asyncio.sleep(0)
    versions.append(other.execute("PRAGMA data_version").fetchone())
    assert len(set(versions)) == 2
    other.close()


async def test_one_refused_write_among_many_harms_no_other(store: SqliteStore) -> None:
    await add(store, task("taken"))
    names = ["a", "b", "taken", "c"]
    outcomes = await asyncio.gather(
        *(store.write(Write(tasks=[task(name)], events=[event(name)])) for name in names),
        return_exceptions=True,
    )
    assert [type(one) is Duplicate for one in outcomes] == [False, False, True, False]
    assert await ids(store, TaskQuery()) == ["taken", "a", "b", "c"]
    assert [one.kind for one in await store.events()] == ["a", "b", "c"]


async def test_a_write_whose_writer_was_cancelled_in_time_is_not_made(store: SqliteStore) -> None:
    impatient = asyncio.ensure_future(add(store, task("a")))
    patient = asyncio.ensure_future(add(store, task("b")))
    await asyncio.sleep(0)
    impatient.cancel()
    await patient
    assert await ids(store, TaskQuery()) == ["b"]


async def test_a_write_waits_for_the_writer_of_another_process(
    store: SqliteStore, other: sqlite3.Connection
) -> None:
    other.execute("BEGIN IMMEDIATE")
    writing = asyncio.ensure_future(add(store, task("a")))
    for _ in range(3):
        await asyncio.sleep(0.01)
    assert await ids(store, TaskQuery()) == []
    assert not writing.done()
    other.execute("ROLLBACK")
    async with asyncio.timeout(60):
        await writing
    assert await ids(store, TaskQuery()) == ["a"]
    other.close()


async def test_a_store_that_stays_busy_is_trouble_in_words(
    store: SqliteStore, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "PATIENCE_S", 0.01)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreTrouble, match="busy") as trouble:
        await add(store, task("a"))
    assert trouble.value.hint
    other.execute("ROLLBACK")
    await add(store, task("a"))
    other.close()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "fleet.db", clock=StillClock())
    waiting = asyncio.ensure_future(add(store, task("a")))
    await asyncio.sleep(0)
    await store.close()
    with pytest.raises(StoreTrouble, match="closed"):
        await waiting
    with pytest.raises(StoreTrouble, match="closed"):
        await add(store, task("b"))
    with pytest.raises(StoreTrouble):
        await store.tasks(TaskQuery())


async def test_closing_a_store_ends_every_wait_for_it(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "fleet.db", clock=StillClock())
    waiting = asyncio.ensure_future(store.changed(0, within=100))
    await asyncio.sleep(0)
    await store.close()
    with pytest.raises(StoreTrouble):
        async with asyncio.timeout(60):
            await waiting
