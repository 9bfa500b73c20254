"""The word index in a file: created, kept up to date, and not needed if SQLite lacks FTS5."""

import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest

from codefleet.domain import search
from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.ports import TaskQuery, Write
from codefleet.store import reading, statements, text_search
from codefleet.store.sqlite import database, schema
from codefleet.store.sqlite.store import SqliteStore
from tests.store.samples import StillClock, add, completed, event, get, ids, take, task

ONE_BY_ONE = """
CREATE VIRTUAL TABLE texts_by_word USING fts5(
    words, content = 'texts', content_rowid = 'place', detail = none, columnsize = 0,
    tokenize = 'ascii'
);
CREATE TRIGGER texts_added AFTER INSERT ON texts BEGIN
    INSERT INTO texts_by_word (rowid, words) VALUES (new.place, new.words);
END;
CREATE TRIGGER texts_changed AFTER UPDATE OF words ON texts BEGIN
    INSERT INTO texts_by_word (texts_by_word, rowid, words)
    VALUES ('delete', old.place, old.words);
    INSERT INTO texts_by_word (rowid, words) VALUES (new.place, new.words);
END;
CREATE TRIGGER texts_removed AFTER DELETE ON texts BEGIN
    INSERT INTO texts_by_word (texts_by_word, rowid, words)
    VALUES ('delete', old.place, old.words);
END;
"""


A_TASK = """
INSERT INTO tasks (
    id, unmet, state, priority, paused, approved, repo, scoped, fence, version, needs, body
) VALUES (?, 0, 'pending', ?, 0, 0, ?, 0, 0, 0, '[]', ?)
"""
SEVEN = 7


def write_as_version_seven(path: Path, *tasks: Task) -> None:
    """A store as the version wrote it that had seven migrations."""
    file = sqlite3.connect(path)
    file.create_function("mark_of", 1, lambda body: search.mark(Task.from_json(body)))
    file.create_function("words_of", 1, lambda body: search.kept(Task.from_json(body)))
    for step in schema.migrations()[:SEVEN]:
        file.executescript(step.read_text())
    file.executescript(ONE_BY_ONE)
    for each in tasks:
        file.execute(A_TASK, (each.id, each.priority, each.repo, each.json()))
    file.execute("INSERT INTO texts SELECT place, mark_of(body), words_of(body) FROM tasks")
    file.executescript(f"PRAGMA user_version = {SEVEN}; PRAGMA application_id = {schema.OURS}")
    file.commit()
    file.close()


@pytest.fixture(autouse=True)
def short_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many that the index is needed."""
    monkeypatch.setattr(text_search, "FIRST", 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fleet.db"


def opened(path: Path) -> SqliteStore:
    return SqliteStore.open(path, clock=StillClock())


def rows(path: Path, question: str) -> list[tuple[object, ...]]:
    file = sqlite3.connect(path)
    found = file.execute(question).fetchall()
    file.close()
    return found


def without_fts5(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "can_index", lambda connection: False)


async def test_a_search_finds_all_where_there_is_no_fts5(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_fts5(monkeypatch)
    store = opened(path)
    await add(store, task("a", title="Mend the mailer"), task("b"), task("c", title="Mail"))
    assert await ids(store, TaskQuery(text="mail")) == ["a", "c"]
    await store.close()
    assert not rows(path, "SELECT 1 FROM sqlite_master WHERE name LIKE 'texts_by_word%'")


async def test_the_index_is_made_by_the_first_that_can(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as old:
        without_fts5(old)
        store = opened(path)
        await add(store, task("a", title="Mend the mailer"), task("b"))
        await store.close()
    store = opened(path)
    assert await ids(store, TaskQuery(text="mail")) == ["a"]
    await store.close()
    assert rows(path, "SELECT count(*) FROM texts_by_word WHERE texts_by_word MATCH 'mailer'")


async def test_an_index_that_was_left_to_itself_is_made_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(path)
    await add(store, task("a", title="Old words"), task("b", title="Old too"))
    await store.close()
    with monkeypatch.context() as old:
        without_fts5(old)
        store = opened(path)
        await store.write(Write(tasks=[task("a", title="New words", version=1)]))
        await add(store, task("c", title="New too"))
        assert await ids(store, TaskQuery(text="new")) == ["a", "c"]
        await store.close()
    store = opened(path)
    assert await ids(store, TaskQuery(text="new")) == ["a", "c"]
    assert await ids(store, TaskQuery(text="old")) == ["b"]
    await store.close()
    check = "INSERT INTO texts_by_word (texts_by_word, rank) VALUES ('integrity-check', 1)"
    rows(path, check)


async def test_one_who_holds_the_file_open_sees_that_the_index_was_left_to_itself(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(path)
    await add(store, task("a"), task("b"))
    with monkeypatch.context() as old:
        without_fts5(old)
        other = opened(path)
        await add(other, task("c", title="New too"))
        await other.close()
    assert await ids(store, TaskQuery(text="new")) == ["c"]
    await store.close()


async def test_claims_and_completions_write_nothing_to_the_index(path: Path) -> None:
    store = opened(path)
    await add(store, task("a", title="Mend the mailer"), task("b", title="Mend it"))
    await add(store, *(task(f"more-{n}") for n in range(256)))  # so that the index has the first
    before = rows(path, "SELECT * FROM texts_by_word_data")
    await store.write(completed(await take(store)))
    held = await take(store)
    await add(store, held.task.evolve(note="halfway", version=held.task.version + 1))
    assert rows(path, "SELECT * FROM texts_by_word_data") == before
    await add(store, (await get(store, "b")).evolve(title="Mend all", version=3))
    assert rows(path, "SELECT * FROM texts_by_word_data") != before
    await store.close()


@pytest.mark.parametrize("at_once", [1, 100, 1000])
async def test_a_word_finds_its_tasks_whether_or_not_the_index_has_them_yet(
    path: Path, at_once: int
) -> None:
    store = opened(path)
    for first in range(0, 1000, at_once):
        some = range(first, first + at_once)
        await add(store, *(task(f"t{n:03}", title=f"Even{n % 2} three{n % 3}") for n in some))
    every = [f"t{n:03}" for n in range(1000)]
    assert await ids(store, TaskQuery(text="even1 three2")) == every[5::6]
    for n in (0, 5, 255, 256, 995, 999):
        await add(store, task(every[n], title="Other words", version=1))
    assert await ids(store, TaskQuery(text="other")) == [
        every[n] for n in (0, 5, 255, 256, 995, 999)
    ]
    assert await ids(store, TaskQuery(text="even1 three2")) == every[11:995:6]
    await store.erase(event("fleet.reset"))
    await add(store, task("a", title="Even1 three2"), task("b"))
    assert await ids(store, TaskQuery(text="three2")) == ["a"]
    await store.close()


async def test_new_words_are_put_into_the_index_together(path: Path) -> None:
    store = opened(path)
    indexed = "SELECT count(*) FROM texts_by_word WHERE texts_by_word MATCH 'mend'"
    for n in range(255):
        await add(store, task(f"t{n}", title="Mend it"))
    assert rows(path, indexed) == [(0,)]
    await add(store, task("t255", title="Mend it"))
    assert rows(path, indexed) == [(256,)]
    await store.close()


async def test_an_index_that_an_earlier_version_kept_one_by_one_is_taken_over(path: Path) -> None:
    write_as_version_seven(path, task("a", title="Mend the mailer"), task("b"))
    store = opened(path)
    await add(store, task("c", title="Mail"), task("d"))
    assert await ids(store, TaskQuery(text="mail")) == ["a", "c"]
    await store.close()
    check = "INSERT INTO texts_by_word (texts_by_word) VALUES ('integrity-check')"
    rows(path, check)


async def test_a_task_whose_words_are_missing_can_be_claimed_and_gets_them_when_it_is_saved(
    path: Path,
) -> None:
    """An earlier codefleet that still has the file open does not know the index."""
    store = opened(path)
    await add(store, task("a", title="Mend the mailer"), task("b"))
    store._database.connection.execute("DELETE FROM texts")
    await store.write(completed(await take(store)))
    assert await ids(store, TaskQuery(text="mailer")) == ["a"]
    await store.close()


def plan(path: Path, *names: str) -> list[str]:
    file = database.opened(path, durability="full", create=True)
    named = statements.read(database.HERE / "queries.sql")
    steps = file.connection.execute(
        f"EXPLAIN QUERY PLAN {named.joined(*names)}", defaultdict(str)
    ).fetchall()
    file.close()
    return [step[3] for step in steps]


@pytest.mark.parametrize("filters", [(), ("in_state",), ("in_states", "in_repo")])
def test_a_rare_word_leads_to_its_tasks_whatever_the_filters(
    path: Path, filters: tuple[str, ...]
) -> None:
    order = ("most_urgent_first", "chosen_by_urgency")
    steps = plan(path, "found_tasks", "by_rarest", "that_fit", *filters, *order)
    assert "SEARCH texts USING INTEGER PRIMARY KEY (rowid=?)" in steps
    assert steps.count("SEARCH task USING INTEGER PRIMARY KEY (rowid=?)") == 2, steps


def test_a_look_reads_the_most_urgent_of_each_state_from_an_index_in_their_order(
    path: Path,
) -> None:
    steps = plan(path, "look_through", "in_states", "the_most_urgent")
    by_state = "SEARCH tasks USING COVERING INDEX tasks_by_state (state=?)"
    assert steps.count(by_state) == len(State), steps
    assert steps.count("MERGE (UNION ALL)") == len(State) - 1, steps


def test_ids_lead_to_the_tasks_that_a_look_has_found(path: Path) -> None:
    query = TaskQuery(ids=[], states=[State.PENDING])
    steps = plan(path, "tasks", *reading._filters(query), *reading.BY_URGENCY)
    assert any("sqlite_autoindex_tasks_1 (id=?)" in step for step in steps), steps
