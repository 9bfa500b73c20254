"""Only the listener needs a session of its own: pgbouncer may sit in between."""

import asyncio

import psycopg
import pytest

from codefleet.domain.scheduling import ClaimFilter
from codefleet.ports import Store, TaskQuery, Write
from codefleet.store.postgres import connections, notify
from codefleet.store.postgres.connection import Connection
from codefleet.store.postgres.connections import Connections
from codefleet.store.postgres.store import PostgresStore
from tests import pgbouncer, postgres
from tests.store.conftest import needs_postgres, skip_or_fail
from tests.store.samples import LEASE, add, claim, completed, event, ids, seat, take, task

pytestmark = needs_postgres

BOUND_S = 30


async def assert_it_works(store: Store) -> None:
    """Some of everything, many at a time."""
    names = [f"t{n:02}" for n in range(20)]
    await add(store, *(task(name) for name in names), task("last", needs=tuple(names)))

    async def work(agent: str) -> None:
        while claims := await store.claim([seat(agent)], ClaimFilter(), lease=LEASE):
            await store.write(completed(claims[0]))

    async with asyncio.timeout(BOUND_S):
        await asyncio.gather(*(work(f"agent-{n}") for n in range(6)))
        await asyncio.gather(work("one"), *(store.counts() for _ in range(10)))
    assert await store.counts() == {"completed": 21}
    waiting = asyncio.ensure_future(store.changed(await store.last_seq(), within=BOUND_S))
    await asyncio.sleep(0)
    await store.write(Write(events=[event()]))
    async with asyncio.timeout(BOUND_S):
        assert await waiting is True
    assert len([row async for row in store.export()]) > 40
    await store.erase(event("fleet.reset"))
    await add(store, task("a", scope=("src/**",)), task("b", scope=("src/a.py",)))
    assert (await take(store)).task.id == "a"
    assert await claim(store) == []
    assert await ids(store, TaskQuery()) == ["a", "b"]


async def is_not_direct(connection: Connection) -> bool:
    """What is detected behind a pool."""
    return False


async def test_statements_are_kept_only_where_the_server_itself_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def kept(store: PostgresStore) -> int:
        await add(store, *(task(f"t{n}") for n in range(5)))
        for _ in range(4):
            await store.write(completed(await take(store)))
        async with store._connections.one(to_write=True) as connection:
            found = await connection.execute("SELECT count(*) FROM pg_prepared_statements")
            return int((await found.fetchone() or (0,))[0])

    direct, pooled = (PostgresStore(postgres.shared().fresh()) for _ in range(2))
    try:
        assert await kept(direct) > 5
        monkeypatch.setattr(connections, "is_direct", is_not_direct)
        assert await kept(pooled) == 0
    finally:
        await direct.close()
        await pooled.close()


async def test_statements_are_kept_anew_when_a_newer_version_has_changed_the_tables() -> None:
    address = postgres.shared().fresh()
    store = PostgresStore(address)
    try:
        await add(store, task("a"), task("b"))
        assert (await take(store)).task.id == "a"
        assert await store.last_seq() == 1
        async with await psycopg.AsyncConnection.connect(address) as newer:
            await newer.execute("ALTER TABLE tasks ALTER COLUMN priority TYPE int")
            await newer.execute("ALTER TABLE log ALTER COLUMN seq TYPE int")
        assert (await take(store)).task.id == "b"
        assert await store.last_seq() == 2
    finally:
        await store.close()


async def test_what_is_set_for_writing_is_kept_by_the_server_and_not_for_readers() -> None:
    async def scans(*, to_write: bool) -> str:
        async with store._connections.one(to_write=to_write) as connection:
            row = await (await connection.execute("SHOW enable_seqscan")).fetchone()
            return str(row[0]) if row else ""

    store = PostgresStore(postgres.shared().fresh())
    try:
        await add(store, task("a"))
        assert await scans(to_write=True) == "off"
        assert await scans(to_write=False) == "on"
    finally:
        await store.close()


async def test_a_connection_may_forget_everything_between_transactions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put_back = Connections._put_back

    async def forget(self: Connections, connection: Connection) -> None:
        if not connection.closed:
            await connection.execute("DISCARD ALL")
        await put_back(self, connection)

    monkeypatch.setattr(Connections, "_put_back", forget)
    monkeypatch.setattr(connections, "is_direct", is_not_direct)
    store = PostgresStore(postgres.shared().fresh())
    try:
        await assert_it_works(store)
    finally:
        await store.close()


@pytest.fixture
def pooled() -> str:
    """The address of a database behind a real pgbouncer in transaction pooling mode."""
    skip_or_fail(pgbouncer.missing())
    return pgbouncer.fresh()


@pytest.mark.slow
async def test_a_store_works_behind_pgbouncer(pooled: str) -> None:
    store = PostgresStore(pooled)
    try:
        await assert_it_works(store)
        listening = store._bell._listening
        assert listening
        async with asyncio.timeout(BOUND_S):
            await listening  # which ends: in a pool nobody would receive notifications
    finally:
        await store.close()


@pytest.mark.slow
async def test_news_are_heard_by_the_direct_address_while_all_else_goes_through_the_pool(
    pooled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        notify, "LOOK_S", BOUND_S
    )  # so that only a notification can wake the reader
    here = await PostgresStore.open(pooled, direct=pgbouncer.direct(pooled))
    other = await PostgresStore.open(pooled)
    try:
        waiting = asyncio.ensure_future(here.changed(0, within=BOUND_S))
        async with asyncio.timeout(BOUND_S):
            while not await listeners(pooled):
                await asyncio.sleep(0.01)
            await other.write(Write(events=[event()]))
            assert await waiting is True
        assert await listeners(pooled) == 1
    finally:
        await here.close()
        await other.close()


async def listeners(pooled: str) -> int:
    """How many connections to this database listen for notifications."""
    waiting = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE starts_with(query, 'LISTEN') AND datname = current_database()"
    )
    async with await psycopg.AsyncConnection.connect(pgbouncer.direct(pooled)) as connection:
        found = await connection.execute(waiting)
        return int((await found.fetchone() or (0,))[0])
