"""What makes writes to PostgreSQL fast, and what it must not break."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from psycopg import OperationalError
from psycopg.errors import DivisionByZero, UndefinedTable, UniqueViolation

from codefleet.domain.caps import Caps
from codefleet.domain.scheduling import ClaimFilter
from codefleet.ports import TaskQuery, Write
from codefleet.store.postgres.connection import Connection
from codefleet.store.postgres.store import PostgresStore
from codefleet.store.postgres.trouble import is_passing
from tests import postgres
from tests.faults.wires import to_postgres, wire
from tests.store.conftest import needs_postgres
from tests.store.proxy import SOCKET
from tests.store.samples import add, claim, completed, get, seat, take, task

pytestmark = needs_postgres

BOUND_S = 30
SCANS = """
SELECT relname, seq_scan FROM pg_stat_user_tables
WHERE schemaname = current_schema() AND relname IN ('tasks', 'needs', 'runs')
"""
READ = """
SELECT sum(idx_tup_read)::int FROM pg_stat_user_indexes
WHERE schemaname = current_schema() AND relname = 'tasks'
"""
CHANGES = """
SELECT n_tup_upd FROM pg_stat_user_tables
WHERE schemaname = current_schema() AND relname = 'tasks'
"""


@pytest.fixture
def address() -> str:
    return postgres.shared().fresh()


@pytest.fixture
async def connection(address: str) -> AsyncIterator[Connection]:
    async with await Connection.connect(address, autocommit=True) as made:
        yield made


@pytest.fixture
async def other(address: str) -> AsyncIterator[Connection]:
    async with await Connection.connect(address, autocommit=True) as made:
        yield made


async def test_a_write_larger_than_the_socket_takes_at_once_gets_through(address: str) -> None:
    store = PostgresStore(address)
    try:
        async with asyncio.timeout(BOUND_S):
            await add(store, *(task(f"t{n}", prompt="x" * 400_000) for n in range(10)))
        assert {len(one.prompt) for one in await store.tasks(TaskQuery())} == {400_000}
    finally:
        await store.close()


@pytest.mark.parametrize(("many", "letters"), [(2500, 10), (20, 400_000)])
async def test_many_or_long_tasks_go_to_the_server_in_several_messages(
    address: str, connection: Connection, many: int, letters: int
) -> None:
    given = [task(f"t{number:04}", prompt="x" * letters) for number in range(many)]
    async with asyncio.timeout(BOUND_S), _opened(address) as store:
        await add(store, *given)
        assert await store.tasks(TaskQuery()) == given
        assert len(await store.tasks(TaskQuery(text="xxxxx"))) == many
    statements = await connection.execute("SELECT many FROM tallies")  # each leaves a row
    assert [few for (few,) in await statements.fetchall() if few > many / 2] == []


async def test_answers_are_taken_in_while_messages_are_still_sent(connection: Connection) -> None:
    text = "x" * 100_000
    async with asyncio.timeout(BOUND_S), connection.talk() as talk:
        asked = [talk.say(b"SELECT $1::text", [text]) for _ in range(100)]
        answers = [await reply.rows() for reply in asked]
    assert answers == [[(text,)]] * 100


async def test_others_go_on_while_the_server_has_no_room_for_more(
    connection: Connection, other: Connection
) -> None:
    async def send() -> None:
        async with connection.talk() as talk:
            talk.say(b"SELECT pg_sleep(600)")
            talk.say(b"SELECT $1::text", ["x" * 10_000_000])

    sending = asyncio.ensure_future(send())
    async with asyncio.timeout(BOUND_S):
        await _until_asleep(other, connection.info.backend_pid)
        await other.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
        with pytest.raises(OperationalError):
            await sending


@pytest.mark.parametrize("times", [1, 2])
async def test_what_was_given_up_is_stopped_and_stops_nothing_after_it(
    connection: Connection, other: Connection, times: int
) -> None:
    connection.is_direct = True
    pid = connection.info.backend_pid
    async with asyncio.timeout(BOUND_S):
        await _give_up(connection, other, times)
        await _until_gone(other, pid)
    assert connection.closed


async def test_a_pool_is_not_told_to_stop_what_was_given_up(
    connection: Connection, other: Connection
) -> None:
    """Some versions of pgbouncer exit when a client does not wait for a response."""
    pid = connection.info.backend_pid
    async with asyncio.timeout(BOUND_S):
        await _give_up(connection, other)
        await _until_asleep(other, pid)
        await other.execute("SELECT pg_terminate_backend(%s)", [pid])
    assert connection.closed


async def test_a_reader_that_is_cancelled_while_its_connection_breaks_stays_cancelled(
    address: str, other: Connection
) -> None:
    """The lost connection must not hide the cancellation: the reader would start over."""
    options = address.partition("&")[2]
    async with wire(to_postgres(postgres.shared().folder / SOCKET)) as line:
        through = f"postgresql://fleet@127.0.0.1:{line.port}/postgres?{options}"
        async with _opened(through) as store, asyncio.timeout(BOUND_S):
            await store.counts()
            await other.execute("BEGIN; LOCK TABLE tallies")
            reading = asyncio.ensure_future(store.counts())
            await _until_waiting(other)
            reading.cancel()
            line.cut()
            await asyncio.wait([reading])
            assert reading.cancelled()
            await other.execute("ROLLBACK")


async def _give_up(connection: Connection, other: Connection, times: int = 1) -> None:
    """Start a slow read, and cancel it this many times while the server works on it."""

    async def read() -> None:
        async with connection.talk() as talk:
            await talk.say(b"SELECT pg_sleep(600)").rows()

    reading = asyncio.ensure_future(read())
    await _until_asleep(other, connection.info.backend_pid)
    for _ in range(times):
        reading.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await reading


@pytest.mark.parametrize("is_direct", [True, False])
async def test_a_talk_that_ends_with_an_error_leaves_nothing_but_a_good_connection(
    connection: Connection, is_direct: bool
) -> None:
    await connection.execute("CREATE TABLE said (word text)")
    warnings: list[str | None] = []  # the server's log would be full of them
    connection.add_notice_handler(lambda warning: warnings.append(warning.message_primary))
    connection.is_direct = is_direct
    with pytest.raises(UndefinedTable):
        await _say(connection, SAY, b"INSERT INTO nowhere VALUES ($1)", LOOK)
    for statements in ((SAY,), (LOOK, SAY), (SAY, LOOK)):
        with pytest.raises(GivenUp):
            await _say(connection, *statements, error=GivenUp())
    assert await _say(connection, LOOK, LOOK) == [[], []]
    assert await _one(connection) == 1
    assert warnings == []


@pytest.mark.parametrize("is_heard", [True, False])
async def test_what_the_commit_itself_is_refused_for_is_told(
    connection: Connection, is_heard: bool
) -> None:
    async def say_twice() -> None:
        async with connection.talk() as talk:
            said = talk.say(b"INSERT INTO known VALUES ($1), ($1)", ["twice"])
            if is_heard:
                await said.rows()

    await connection.execute("CREATE TABLE known (word text UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    connection.is_direct = True
    for _ in range(2):
        with pytest.raises(UniqueViolation):
            await say_twice()
    assert await _say(connection, b"SELECT word FROM known WHERE word = $1") == [[]]
    assert await _one(connection) == 1


async def test_a_failed_talk_does_not_make_the_server_keep_statements_again(
    connection: Connection,
) -> None:
    connection.is_direct = True
    for _ in range(10):
        with pytest.raises(DivisionByZero):
            await _say(connection, b"SELECT $1", b"SELECT 1 / length($1 || 'x') - 1 / 0")
    kept = await connection.execute("SELECT count(*) FROM pg_prepared_statements")
    assert await kept.fetchone() == (2,)


class GivenUp(Exception):
    """What ends a conversation in the middle."""


SAY = b"INSERT INTO said VALUES ($1)"
LOOK = b"SELECT word FROM said WHERE word = $1"


async def _say(
    connection: Connection, *statements: bytes, error: Exception | None = None
) -> list[list[tuple[Any, ...]]]:
    """One conversation about one word, which may be abandoned before the last response."""
    async with connection.talk() as talk:
        *asked, last = [talk.say(statement, ["a"]) for statement in statements]
        rows = [await reply.rows() for reply in asked]
        if error:
            raise error
        return [*rows, await last.rows()]


async def _one(connection: Connection) -> int:
    """A one sent by the server."""
    row = await (await connection.execute("SELECT 1")).fetchone()
    return row[0] if row else 0


async def _until_gone(connection: Connection, pid: int) -> None:
    asked = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
    while await (await connection.execute(asked, [pid])).fetchone():
        await asyncio.sleep(0.01)


async def _until_asleep(connection: Connection, pid: int) -> None:
    asked = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
    while await (await connection.execute(asked, [pid])).fetchone() is None:
        await asyncio.sleep(0.01)


async def test_small_writes_search_through_no_table_however_small_it_was_when_they_were_planned(
    address: str, connection: Connection
) -> None:
    await _worked_off(address, "a")
    await connection.execute("ANALYZE tasks, needs, runs")
    before = await _scans(connection, after=5)
    await _worked_off(address, "b")
    assert await _scans(connection, after=10) == before


@pytest.mark.parametrize("caps", [None, Caps(fleet=9), Caps(repos=(("shop", 9), ("other", 0)))])
async def test_claims_and_writes_read_few_of_many_tasks(
    address: str, connection: Connection, caps: Caps | None
) -> None:
    want, many, few = ClaimFilter(caps=caps), 1000, 200
    async with _opened(address) as store:
        await add(store, *(task(f"t{number:04}") for number in range(many)))
        await claim(store, want)
    (before,) = await _counted(connection, READ, after=1)
    await connection.execute("ANALYZE tasks")
    async with _opened(address) as store:
        await claim(store, want)
        await add(store, task("new"))
        changed = (await get(store, "new")).evolve(title="Else", needs=("t0999",), version=1)
        await store.write(Write(tasks=[changed]))
    (after,) = await _counted(connection, READ, after=5)
    assert after[0] - before[0] < few


@asynccontextmanager
async def _opened(address: str) -> AsyncIterator[PostgresStore]:
    """A store for a while; the server counts its work once it is closed."""
    store = PostgresStore(address)
    yield store
    await store.close()


async def _scans(connection: Connection, *, after: int) -> list[tuple[Any, ...]]:
    """How often each table was scanned."""
    return await _counted(connection, SCANS, after=after)


async def _counted(connection: Connection, what: str, *, after: int) -> list[tuple[Any, ...]]:
    """What the server counts, once it has counted this many changes of tasks."""
    async with asyncio.timeout(BOUND_S):
        while (await (await connection.execute(CHANGES)).fetchone() or (0,))[0] < after:
            await asyncio.sleep(0.01)
    return await (await connection.execute(what.encode())).fetchall()


async def _worked_off(address: str, name: str) -> None:
    """Two tasks, one of which needs the other, done one after the other: five changes."""
    store = PostgresStore(address)
    try:
        await add(store, task(name), task(f"{name}2", needs=(name,)))
        for _ in range(2):
            await store.write(completed(await take(store)))
    finally:
        await store.close()


@pytest.mark.parametrize(
    "want",
    [
        ClaimFilter(caps=Caps(repos=(("shop", 1),))),
        ClaimFilter(caps=Caps(coders=(("claude", 1),))),
        ClaimFilter(),
    ],
)
async def test_a_claim_holds_few_of_the_many_tasks_that_have_no_place_any_more(
    address: str, connection: Connection, want: ClaimFilter
) -> None:
    store = PostgresStore(address)
    try:
        assignee = None if want.caps else "claude-1"
        await add(store, *(task(f"t{number}", assignee=assignee) for number in range(100)))
        assert await claim(store, want, [seat("claude-1"), seat("claude-2")]) == ["t0"]
    finally:
        await store.close()
    held = await connection.execute("SELECT id FROM tasks WHERE state = 'pending' AND xmax <> '0'")
    assert await held.fetchall() == [("t1",)]


@pytest.mark.parametrize(
    "said",
    [
        "the database system is starting up",
        "the database system is not yet accepting connections",
        "the database system is in recovery mode",
        "server login has been failing, try again later (server_login_retry)",
        "query_wait_timeout",
    ],
)
def test_a_server_that_is_about_to_be_there_is_waited_for(said: str) -> None:
    assert is_passing(OperationalError(f"connection failed: FATAL:  {said}"))


async def _until_waiting(other: Connection) -> None:
    """Wait until somebody waits for a lock of this connection."""
    blocked = "NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
    waits = f"SELECT pid FROM pg_locks WHERE {blocked}".encode()
    while not await (await other.execute(waits)).fetchone():
        await asyncio.sleep(0.01)
