"""The word index on a server: filled even if there were tasks before it."""

import psycopg
import pytest

from codefleet.ports import TaskQuery
from codefleet.store import text_search
from codefleet.store.postgres.store import PostgresStore
from tests import postgres
from tests.store.conftest import needs_postgres
from tests.store.samples import add, ids, task
from tests.store.test_postgres_records import BEFORE_TEAMS

BEFORE_TEXTS = (
    *BEFORE_TEAMS,
    b"DROP TABLE texts",
    b"DROP FUNCTION by_word(text)",
    b"DROP FUNCTION insist(boolean)",
    b"DROP INDEX runs_by_lease",
    b"ALTER TABLE tasks DROP COLUMN parent, DROP COLUMN resting_since",
    b"DROP FUNCTION moment_in(text, text) CASCADE",
    b"ALTER TABLE questions DROP COLUMN task, ADD COLUMN answered_at timestamptz",
    b"ALTER TABLE conflicts ADD COLUMN found_at timestamptz",
    b"ALTER TABLE messages ADD COLUMN delivered_at timestamptz",
    b"CREATE FUNCTION holds(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    b"DELETE FROM codefleet_migrations WHERE number >= 5",
)


@needs_postgres
async def test_the_tasks_of_an_earlier_version_are_found_by_their_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = postgres.shared().fresh()
    store = await PostgresStore.open(address)
    await add(store, *[task(f"t{number}", title=f"Paint wall{number}") for number in range(1100)])
    await store.close()
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in BEFORE_TEXTS:
            connection.execute(statement)
    monkeypatch.setattr(text_search, "FIRST", 1)
    store = await PostgresStore.open(address)
    assert await ids(store, TaskQuery(text="wall1099")) == ["t1099"]
    assert len(await ids(store, TaskQuery(text="paint wall"))) == 1100
    await store.close()
