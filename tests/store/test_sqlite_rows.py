"""A row's columns and body come from one noun, in new stores and in those of old versions."""

import json
import sqlite3
from datetime import timedelta
from pathlib import Path

from codefleet.domain import lifecycle, retries
from codefleet.domain.lifecycle import Verb, move
from codefleet.domain.model import Task, TaskId
from codefleet.domain.retries import RetryPolicy
from codefleet.domain.words import Outcome, Reason, State
from codefleet.ports import TaskQuery, Write
from codefleet.store.events import event_body
from codefleet.store.sqlite import schema
from codefleet.store.sqlite.store import SqliteStore
from tests.store.samples import (
    START,
    StillClock,
    add,
    claim,
    completed,
    ended,
    event,
    get,
    seat,
    take,
    task,
)

COLUMNS = {
    "tasks": [
        *("id", "state", "priority", "paused", "approved", "repo", "coder"),
        *("assignee", "fence", "version", "needs"),
    ],
    "runs": ["id", "task", "outcome", "version"],
    "events": ["task", "kind"],
}
OLD = """
INSERT INTO tasks (id, unmet, body) VALUES ('a', 0, :a), ('b', 1, :b);
INSERT INTO needs (task, need) VALUES ('b', 'a');
INSERT INTO runs (id, task, body) VALUES (:run_id, 'a', :run);
INSERT INTO events (seq, body) VALUES (7, :event);
"""


def differing(path: Path) -> list[tuple[str, str, str]]:
    """Every column that disagrees with the body next to it."""
    checks = [
        (table, column, f"{column} IS NOT json_extract(body, '$.{column}')")
        for table, columns in COLUMNS.items()
        for column in columns
    ]
    checks += [
        (table, column, f"julianday({column}) IS NOT julianday(json_extract(body, '$.{column}'))")
        for table, column in {"tasks": "not_before", "runs": "lease_until"}.items()
    ]
    edges = "(SELECT json_group_array(need) FROM needs WHERE task = id)"
    checks += [
        ("tasks", "scoped", "scoped IS NOT json_array_length(body, '$.scope') > 0"),
        ("tasks", "needs", f"needs IS NOT {edges}"),
    ]
    file = sqlite3.connect(path)
    found = [
        (table, column, row[0])
        for table, column, differs in checks
        for row in file.execute(f"SELECT body FROM {table} WHERE {differs}")
    ]
    file.close()
    return found


async def test_no_column_says_anything_else_than_the_body(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    store = SqliteStore.open(path, clock=StillClock())
    await add(
        store,
        task("a", priority=5, scope=["src/**"], coder="claude", assignee="claude-1"),
        task("b", priority=4, repo="other"),
        task("c", needs=["a", "b"]),
        task("d", needs=["c"], not_before=START + timedelta(hours=1)),
    )
    await store.write(completed(await take(store)))
    failing = await take(store)
    after = retries.fail(failing.task, Reason.CRASHED, "", START, RetryPolicy())
    over = lifecycle.end(failing.run, Outcome.FAILED, START)
    await store.write(Write(tasks=[after], runs=[over], events=[event(task=TaskId("b"))]))
    await store.write(Write(tasks=[move(await get(store, "b"), Verb.PAUSE, paused=True)]))
    d = await get(store, "d")
    await store.write(Write(tasks=[d.evolve(needs=("a",), approved=True, version=1)]))
    await store.write(Write(events=[event("fleet.paused")]))
    await store.close()
    assert differing(path) == []


def without_needs(of: Task) -> str:
    return json.dumps({name: value for name, value in of.plain().items() if name != "needs"})


def an_old_store(path: Path, version: int) -> None:
    """A file as an earlier codefleet left it, with a running task and one that waits for it."""
    file = sqlite3.connect(path, isolation_level=None)
    for script in schema.migrations()[:version]:
        file.executescript(script.read_text())
    held = lifecycle.claim(task("a"), seat(), START, START + timedelta(seconds=30), None)
    values = {
        "a": without_needs(held.task),
        "b": without_needs(task("b", scope=["x"], needs=["a"])),
        "run_id": held.run.id,
        "run": held.run.json(),
        "event": event_body(event("noted", task=TaskId("a"))),
    }
    for statement in OLD.strip().split(";")[:-1]:
        file.execute(statement, values)
    file.execute(f"PRAGMA user_version = {version}")
    file.execute(f"PRAGMA application_id = {schema.OURS}")
    file.close()


async def test_a_store_of_an_earlier_version_is_carried_over(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    an_old_store(path, version=2)
    store = SqliteStore.open(path, clock=StillClock())
    (run,) = await store.runs(live=True)
    assert [one.seq for one in await store.events(task=TaskId("a"))] == [7]
    assert (await get(store, "b")).needs == ("a",)
    assert await store.counts() == {"running": 1, "blocked": 1}
    assert [one.id for one in await store.tasks(TaskQuery(text="do b"))] == ["b"]
    held = await get(store, "a")
    await store.write(ended(lifecycle.Claim(held, run, None, ()), Verb.COMPLETE, Outcome.SUBMITTED))
    assert await claim(store) == ["b"]
    assert [one.state for one in await store.tasks(TaskQuery())] == [State.COMPLETED, State.RUNNING]
    await store.close()
    assert differing(path) == []
