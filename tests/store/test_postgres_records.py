"""Records on a server: also those of an earlier version are found by what their bodies say."""

import psycopg

from codefleet.domain.model import Conflict, Message, MessageId, Question, QuestionId, RunId, TaskId
from codefleet.ports import Write
from codefleet.store.postgres.store import PostgresStore
from tests import postgres
from tests.store.conftest import needs_postgres
from tests.store.samples import START

BEFORE_TEAMS = (
    b"DROP TABLE receipts, reviews",
    b"DROP TABLE swarms, posts, checkpoints, memories, file_claims",
    b"ALTER TABLE tasks DROP COLUMN worker, DROP COLUMN swarm",
    b"ALTER TABLE messages DROP COLUMN recipient",
    b"DROP TABLE teams, members, tokens, invites, alerts",
    b"ALTER TABLE tasks DROP COLUMN team",
    b"ALTER TABLE tallies DROP COLUMN team",
    b"CREATE OR REPLACE FUNCTION tally_changed() RETURNS trigger LANGUAGE plpgsql "
    b"AS 'BEGIN RETURN NULL; END'",
)
BEFORE_RECORDS = (
    *BEFORE_TEAMS,
    b"DROP FUNCTION moment_in(text, text) CASCADE",
    b"ALTER TABLE questions DROP COLUMN task, ADD COLUMN answered_at timestamptz",
    b"ALTER TABLE questions ADD COLUMN task text",
    b"ALTER TABLE conflicts ADD COLUMN found_at timestamptz",
    b"ALTER TABLE messages ADD COLUMN delivered_at timestamptz",
    b"DELETE FROM codefleet_migrations WHERE number >= 9",
)
OPEN = Question(
    id=QuestionId("q1"), task=TaskId("a"), run=RunId("a.1"), text="Which?", asked_at=START
)
ANSWERED = OPEN.evolve(id=QuestionId("q2"), task=TaskId("b"), answered_at=START)
CONFLICT = Conflict(
    id="c1", tasks=(TaskId("a"), TaskId("b")), paths=("x.py",), found="probe", found_at=START
)
UNREAD = Message(id=MessageId("m1"), agent="x", text="Mind the gap", sent_at=START)
READ = UNREAD.evolve(id=MessageId("m2"), delivered_at=START)


@needs_postgres
async def test_the_records_of_an_earlier_version_are_found() -> None:
    address = postgres.shared().fresh()
    store = await PostgresStore.open(address)
    await store.write(Write(records=[OPEN, ANSWERED, CONFLICT, UNREAD, READ]))
    await store.close()
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in BEFORE_RECORDS:
            connection.execute(statement)
    store = await PostgresStore.open(address)
    assert await store.records(Question, open_only=True) == [OPEN]
    assert await store.records(Question, tasks=[TaskId("b")]) == [ANSWERED]
    assert await store.records(Conflict, since=START) == [CONFLICT]
    assert await store.records(Message, open_only=True) == [UNREAD]
    await store.close()
