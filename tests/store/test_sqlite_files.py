"""The file of a SQLite store: private, durable, up to date, and with clear errors."""

import os
import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest

from codefleet.domain.errors import StoreTrouble
from codefleet.ports import TaskQuery, Write
from codefleet.store import statements
from codefleet.store.sqlite import database
from codefleet.store.sqlite.store import SqliteStore
from tests.store.samples import StillClock, add, event, ids, task


def opened(path: Path, create: bool = True) -> SqliteStore:
    return SqliteStore.open(path, clock=StillClock(), create=create)


def pragma(store: SqliteStore, name: str) -> object:
    return store._database.connection.execute(f"PRAGMA {name}").fetchone()[0]


async def test_a_new_store_and_its_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "home" / "fleet.db"
    store = opened(path)
    await add(store, task("a"))
    assert path.parent.stat().st_mode & 0o777 == 0o700
    for file in path.parent.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
    await store.close()


async def test_a_store_is_durable_against_a_power_cut_unless_told_otherwise(
    tmp_path: Path,
) -> None:
    full = opened(tmp_path / "fleet.db")
    normal = SqliteStore.open(tmp_path / "fleet.db", clock=StillClock(), durability="normal")
    assert [pragma(store, "synchronous") for store in (full, normal)] == [2, 1]
    assert [pragma(store, "journal_mode") for store in (full, normal)] == ["wal", "wal"]
    assert (pragma(full, "fullfsync"), pragma(normal, "fullfsync")) == (1, 0)  # heeded by macOS
    await full.close()
    await normal.close()


async def test_the_database_itself_refuses_a_need_that_is_no_task(tmp_path: Path) -> None:
    store = opened(tmp_path / "fleet.db")
    await add(store, task("a"))
    with pytest.raises(sqlite3.IntegrityError):
        store._database.run("add_need", {"task": "a", "need": "ghost"})
    await store.close()


async def test_what_was_stored_is_there_after_opening_again(tmp_path: Path) -> None:
    first = opened(tmp_path / "fleet.db")
    await add(first, task("a"))
    await first.close()
    second = opened(tmp_path / "fleet.db", create=False)
    assert await ids(second, TaskQuery()) == ["a"]
    await second.close()


def test_a_missing_store_is_not_made_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(StoreTrouble, match="no store") as trouble:
        opened(tmp_path / "fleet.db", create=False)
    assert "fleet init" in trouble.value.hint
    assert list(tmp_path.iterdir()) == []


async def test_a_store_of_a_newer_codefleet_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    await opened(path).close()
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 1000")
    newer.close()
    with pytest.raises(StoreTrouble, match="newer codefleet") as trouble:
        opened(path)
    assert "upgrade" in trouble.value.hint


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    content = b"not a database at all, but long enough to be read" * 40
    path.write_bytes(content)
    with pytest.raises(StoreTrouble, match="damaged") as trouble:
        opened(path)
    assert "fleet import" in trouble.value.hint
    assert path.read_bytes() == content


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    strange = sqlite3.connect(path)
    strange.execute("CREATE TABLE tasks (id)")
    strange.close()
    before = path.read_bytes()
    with pytest.raises(StoreTrouble, match="is not a codefleet store"):
        opened(path)
    assert path.read_bytes() == before


async def test_a_damaged_store_is_trouble_in_words(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    store = opened(path)
    await add(store, *(task(f"t{n}", prompt="x" * 2000) for n in range(50)))
    await store.close()
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (path.stat().st_size - 8192))
    with pytest.raises(StoreTrouble, match="damaged"):
        await read_all(path)


async def read_all(path: Path) -> None:
    store = opened(path)
    try:
        await store.tasks(TaskQuery())
    finally:
        await store.close()


def test_a_folder_that_cannot_be_made_is_trouble_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreTrouble, match="cannot be opened") as trouble:
        opened(tmp_path / "file" / "fleet.db")
    assert trouble.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("create", [True, False])
async def test_a_read_only_home_is_trouble_in_words(tmp_path: Path, create: bool) -> None:
    path = tmp_path / "fleet.db"
    if not create:
        await opened(path).close()
        path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreTrouble, match="cannot be opened or written"):
            opened(path)
    finally:
        tmp_path.chmod(0o700)


async def test_a_full_disk_refuses_the_write_and_keeps_all_that_was_stored(
    tmp_path: Path,
) -> None:
    store = opened(tmp_path / "fleet.db")
    await add(store, task("kept"))
    pages = pragma(store, "page_count")
    pragma(store, f"max_page_count = {pages}")
    step = Write(tasks=[task("big", prompt="x" * 500_000)], events=[event()])
    with pytest.raises(StoreTrouble, match="disk is full") as trouble:
        await store.write(step)
    assert trouble.value.hint
    assert await ids(store, TaskQuery()) == ["kept"]
    assert await store.last_seq() == 0
    pragma(store, "max_page_count = 1000000")
    await store.write(step)
    assert await ids(store, TaskQuery()) == ["kept", "big"]
    await store.close()


def test_every_statement_is_explained_and_can_be_prepared(tmp_path: Path) -> None:
    text = (database.HERE / "queries.sql").read_text()
    for block in text.split("-- name: ")[1:]:
        assert block.splitlines()[1].startswith("-- "), block
    file = database.opened(tmp_path / "fleet.db", durability="full", create=True)
    named = statements.Statements(text)
    parts = ("AND", "ORDER BY", ")")
    whole = [named[name] for name in named if not named[name].startswith(parts)]
    for head in ("tasks", "ready_tasks", "found_tasks", "look_through"):
        whole.remove(named[head])
    order = ("most_urgent_first", "chosen_by_urgency")
    whole.append(named.joined("found_tasks", "by_rarest", "that_fit", *order))
    whole += [named.joined("look_through", which) for which in ("the_most_urgent", "the_newest")]
    whole.append(named.joined("tasks", *order))
    whole.append(named.joined("ready_tasks", "that_are_ready", *order))
    for statement in (part for text in whole for part in text.split(";")):
        file.connection.execute(f"EXPLAIN {statement}", defaultdict(str))
    file.close()


@pytest.mark.parametrize(
    ("names", "index"),
    [
        (("ready_tasks", "that_are_ready"), "tasks_ready"),
        (("tasks", "in_state"), "tasks_by_state (state=?)"),
    ],
)
def test_the_most_urgent_of_many_are_the_first_of_an_index(
    tmp_path: Path, names: tuple[str, ...], index: str
) -> None:
    file = database.opened(tmp_path / "fleet.db", durability="full", create=True)
    named = statements.read(database.HERE / "queries.sql")
    chosen = named.joined(*names, "most_urgent_first").partition("IN (")[2]
    plan = file.connection.execute(f"EXPLAIN QUERY PLAN {chosen}", defaultdict(str)).fetchall()
    file.close()
    assert [index in step[3] for step in plan] == [True], plan
