"""A server that fails, comes back, or is unusable: nothing lost, nothing twice, clear errors."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress

import psycopg
import pytest

from codefleet.domain.errors import BadConfig, StoreTrouble
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import State
from codefleet.ports import TaskQuery, Write
from codefleet.store.postgres import connections
from codefleet.store.postgres.connection import Connection
from codefleet.store.postgres.store import PostgresStore
from codefleet.store.postgres.transaction import STATEMENTS
from codefleet.store.postgres.trouble import place_of
from tests import pgbouncer, postgres
from tests.postgres import Server
from tests.store.conftest import needs_postgres, skip_or_fail
from tests.store.proxy import Cut, opened_at, over_a_wire, wired
from tests.store.samples import LEASE, add, claim, completed, event, ids, seat, task

pytestmark = [needs_postgres, pytest.mark.slow]

BOUND_S = 60


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server of this test's own, which it may abuse. It really writes to disk."""
    own = Server.made("listen_addresses=''")
    yield own
    own.remove()


@pytest.fixture
async def store(own_server: Server) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(own_server.address())
    yield opened
    await opened.close()


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
async def test_a_commit_whose_answer_is_lost_is_made_exactly_once(cut: Cut) -> None:
    async with over_a_wire() as (store, wire, _):
        await store.write(Write(events=[event("before")]))
        wire.cut = cut
        async with asyncio.timeout(BOUND_S):
            step = Write(tasks=[task("a")], events=[event("first"), event("second")])
            told = await store.write(step)
        assert wire.cuts == 1
        assert [(one.kind, one.seq) for one in told] == [("first", 2), ("second", 3)]
        assert [one.seq for one in await store.events()] == [1, 2, 3]
        wire.cut = cut
        async with asyncio.timeout(BOUND_S):
            (given,) = await store.claim([seat()], ClaimFilter(), lease=LEASE)
        assert wire.cuts == 2
        assert [(run.id, run.fence) for run in await store.runs()] == [("a.1", 1)]
        assert [one.seq for one in given.events] == [4]
        assert await claim(store) == []


async def test_a_lost_commit_that_the_server_hears_of_late_is_undone() -> None:
    async with over_a_wire() as (store, wire, _):
        await store.write(Write(events=[event("before")]))
        wire.cut = Cut.LATE
        async with asyncio.timeout(BOUND_S):
            (told,) = await store.write(Write(events=[event("lost and told again")]))
            wire.goes_on.set()
            await wire.has_ended.wait()
        assert wire.cuts == 1
        assert [one.seq for one in await store.events()] == [1, told.seq]


async def storm(store: PostgresStore, name: str, done: list[str], enough: asyncio.Event) -> None:
    """Add, claim and complete, keeping a list of what was acknowledged."""
    number = 0
    while not enough.is_set():
        number += 1
        mine = f"{name}-{number}"
        await store.write(Write(tasks=[task(mine)], events=[event("added")]))
        done.append(f"added {mine}")
        await work_off(store, name, done)


async def work_off(store: PostgresStore, name: str, done: list[str]) -> None:
    """Claim and complete a task, if there is one that nobody holds."""
    for held in await store.claim([seat(name)], ClaimFilter(), lease=LEASE * 100):
        done.append(f"claimed {held.run.id}")
        await store.write(completed(held))
        done.append(f"completed {held.task.id}")


async def test_a_writer_that_froze_in_the_middle_does_not_hold_up_the_others() -> None:
    async with over_a_wire() as (frozen, wire, address), opened_at(address) as other:
        await frozen.write(Write(settings={"paused": "by nobody"}))
        wire.cut = Cut.FROZEN
        async with asyncio.timeout(BOUND_S):
            late = asyncio.create_task(frozen.write(Write(settings={"paused": "by one"})))
            while not wire.cuts:
                await asyncio.sleep(0.01)
            await other.write(Write(settings={"paused": "by another"}))
            await late
        assert await other.settings() == {"paused": "by one"}  # retried, once it was back


async def test_who_froze_while_it_made_the_tables_does_not_hold_up_the_others() -> None:
    address = postgres.shared().fresh()
    frozen = await Connection.connect(address, application_name="codefleet", autocommit=True)
    try:
        for statement in ("BEGIN", *STATEMENTS["lock_migrations"].split(";")):
            await frozen.execute(statement.encode())
        await frozen.execute(b"CREATE TABLE codefleet_migrations (number int PRIMARY KEY)")
        async with asyncio.timeout(BOUND_S):
            store = await PostgresStore.open(address)
            assert await store.last_seq() == 0
            await store.close()
    finally:
        await frozen.close()


async def test_what_a_frozen_claim_had_in_hand_goes_to_others() -> None:
    async with over_a_wire() as (frozen, wire, address), opened_at(address) as other:
        await other.write(Write(tasks=[task("held")]))
        await frozen.last_seq()
        wire.cut = Cut.FROZEN
        late = asyncio.create_task(frozen.claim([seat("one")], ClaimFilter(), lease=LEASE))
        async with asyncio.timeout(BOUND_S):
            while not wire.cuts:
                await asyncio.sleep(0.01)
            while not (claims := await other.claim([seat("other")], ClaimFilter(), lease=LEASE)):
                await asyncio.sleep(0.05)
            assert not await late
        assert [claim.task.id for claim in claims] == ["held"]


async def test_a_server_that_vanishes_with_a_message_on_its_way_is_not_waited_for_forever() -> None:
    async with wired(postgres.shared().folder) as (_, port):
        address = f"postgresql://fleet@127.0.0.1:{port}/postgres"
        connection = await connections.Connections(address).made()
        with socket.socket(fileno=os.dup(connection.fileno())) as wire:
            bound_ms = wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        await connection.close()
    assert 0 < bound_ms <= 30_000


@pytest.mark.parametrize("how", ["restart", "kill"])
async def test_a_server_that_goes_away_in_a_storm_loses_nothing_it_acknowledged(
    own_server: Server, how: str
) -> None:
    stores = [PostgresStore(own_server.address()) for _ in range(3)]
    try:
        await assert_a_storm_is_survived(own_server, stores, how)
    finally:
        for store in stores:
            await store.close()


async def test_a_server_that_goes_away_behind_pgbouncer_loses_nothing_it_acknowledged(
    own_server: Server,
) -> None:
    skip_or_fail(pgbouncer.missing())
    pooled = pgbouncer.in_front_of(own_server)
    stores = [PostgresStore(pooled) for _ in range(3)]
    try:
        await assert_a_storm_is_survived(own_server, stores, "restart")
    finally:
        for store in stores:
            await store.close()


async def assert_a_storm_is_survived(
    own_server: Server, stores: Sequence[PostgresStore], how: str
) -> None:
    done: list[str] = []
    enough = asyncio.Event()
    working = [
        asyncio.create_task(storm(store, f"s{n}", done, enough)) for n, store in enumerate(stores)
    ]
    for round_ in range(1, 4):
        await until_done(done, 40 * round_, working)
        if how == "kill":
            await asyncio.to_thread(own_server.kill)
            await asyncio.to_thread(own_server.start)
        else:
            await asyncio.to_thread(own_server.restart)
    await until_done(done, len(done) + 40, working)
    enough.set()
    async with asyncio.timeout(BOUND_S):
        await asyncio.gather(*working)
        while await stores[0].tasks(
            TaskQuery(states=[State.PENDING])
        ):  # were locked when asked for
            await work_off(stores[0], "last", done)
    await assert_all_kept(stores[0], done)


async def until_done(done: Sequence[str], many: int, working: Sequence[asyncio.Task[None]]) -> None:
    async with asyncio.timeout(BOUND_S):
        while len(done) < many and not any(one.done() for one in working):
            await asyncio.sleep(0.01)
    for one in working:
        if one.done():
            one.result()


async def assert_all_kept(store: PostgresStore, done: Sequence[str]) -> None:
    """Each acknowledged step is there, and nothing that was not acknowledged."""
    tasks = {found.id: found for found in await store.tasks(TaskQuery())}
    runs = [run.id for run in await store.runs()]
    said: dict[str, list[str]] = {"added": [], "claimed": [], "completed": []}
    for word, name in (line.split() for line in done):
        said[word].append(name)
    assert sorted(tasks) == sorted(said["added"])
    assert sorted(runs) == sorted(said["claimed"])
    assert sorted(runs) == sorted(f"{name}.1" for name in tasks)
    assert {name for name, one in tasks.items() if one.state == "completed"} == {*said["completed"]}
    seqs = [one.seq for one in await store.events(limit=100_000)]
    assert seqs == list(range(1, len(done) + 1))


async def test_a_waiting_reader_hears_again_after_a_restart(
    own_server: Server, store: PostgresStore
) -> None:
    waiting = asyncio.ensure_future(store.changed(0, within=BOUND_S))
    await asyncio.sleep(0)
    await asyncio.to_thread(own_server.restart)
    await store.write(Write(events=[event()]))
    async with asyncio.timeout(BOUND_S):
        assert await waiting is True


async def test_after_a_restart_nobody_tries_one_lost_connection_after_the_other(
    own_server: Server, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.gather(*(store.last_seq() for _ in range(connections.MOST)))
    assert await asyncio.to_thread(connected, own_server) == connections.MOST
    await asyncio.to_thread(own_server.restart)
    monkeypatch.setattr(connections, "PATIENCE_S", 1.0)
    monkeypatch.setattr(connections, "_FIRST_WAIT_S", 0.4)  # so that it lasts for three
    assert await store.last_seq() == 0


async def test_a_server_that_hangs_up_on_the_idle_is_called_again(own_server: Server) -> None:
    own_server.configure("idle_session_timeout = '500ms'")
    own_server.restart()
    store = PostgresStore(own_server.address())
    try:
        for work in (store.last_seq, lambda: add(store, task("a")), store.last_seq):
            await work()
            async with asyncio.timeout(BOUND_S):
                while await asyncio.to_thread(connected, own_server):
                    await asyncio.sleep(0.01)
        assert await ids(store, TaskQuery()) == ["a"]
    finally:
        await store.close()


def connected(server: Server) -> int:
    """How many connections the server has from stores."""
    many = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'codefleet'"
    with psycopg.connect(server.address()) as connection:
        return int((connection.execute(many).fetchone() or (0,))[0])


async def test_a_server_that_stays_away_is_trouble_in_words(
    own_server: Server, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PATIENCE_S", 0.05)
    own_server.stop()
    for work in (store.last_seq(), add(store, task("a"))):
        with pytest.raises(StoreTrouble, match="cannot be reached") as trouble:
            await work
        assert trouble.value.hint
    own_server.start()
    await add(store, task("a"))
    assert await ids(store, TaskQuery()) == ["a"]


async def test_a_read_only_server_is_trouble_in_words(
    own_server: Server, store: PostgresStore
) -> None:
    own_server.configure("default_transaction_read_only = on")
    own_server.restart()
    with pytest.raises(StoreTrouble, match="read-only") as trouble:
        await add(store, task("a"))
    assert "primary" in trouble.value.hint
    assert await ids(store, TaskQuery()) == []


async def refused(address: str, *, create: bool = True) -> StoreTrouble:
    with pytest.raises(StoreTrouble) as trouble, suppress(BadConfig):
        await PostgresStore.open(address, create=create)
    assert trouble.value.hint
    return trouble.value


async def test_a_door_that_stays_shut_says_why_and_no_password(own_server: Server) -> None:
    (own_server.data / "pg_hba.conf").write_text(
        "local all fleet trust\nlocal all all scram-sha-256\n"
    )
    own_server.run(
        "CREATE ROLE ann LOGIN PASSWORD 'right'",
        "REVOKE CREATE ON SCHEMA public FROM public",  # PostgreSQL 14 grants it to everybody
        "SELECT pg_reload_conf()",
    )
    socket = f"?host={own_server.folder}"
    wrong = {
        f"postgresql://ann:hush@/postgres{socket}": "refuses this user",
        f"postgresql://ann@/postgres{socket}": "refuses this user",
        f"postgresql://ghost:hush@/postgres{socket}": "refuses this user",
        f"postgresql://fleet:hush@/nowhere{socket}": "no database",
        "postgresql://fleet:hush@127.0.0.1:1/x": "cannot be reached",
        f"postgresql://fleet:hush@/x?host={own_server.folder / 'nowhere'}": "cannot be reached",
        f"postgresql://ann:right@/postgres{socket}": "lacks a permission",
    }
    for address, words in wrong.items():
        trouble = await refused(address)
        assert words in trouble.problem, address
        assert "hush" not in f"{trouble.problem} {trouble.hint}"


async def test_a_store_that_is_not_there_is_not_made_unless_asked() -> None:
    address = postgres.shared().fresh()
    trouble = await refused(address, create=False)
    assert "no store" in trouble.problem
    assert "fleet init" in trouble.hint
    await (await PostgresStore.open(address)).close()
    await (await PostgresStore.open(address, create=False)).close()


async def test_what_another_program_or_a_newer_one_wrote_is_left_alone(own_server: Server) -> None:
    own_server.run("CREATE DATABASE shop", "CREATE DATABASE later")
    own_server.run("CREATE TABLE tasks (id int)", database="shop")
    assert "another program" in (await refused(own_server.address("shop"))).problem
    await (await PostgresStore.open(own_server.address("later"))).close()
    own_server.run("INSERT INTO codefleet_migrations VALUES (1000)", database="later")
    newer = await refused(own_server.address("later"))
    assert "newer codefleet" in newer.problem
    assert "upgrade" in newer.hint


async def test_a_database_that_cannot_hold_all_letters_is_refused(own_server: Server) -> None:
    own_server.run("CREATE DATABASE old ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    assert "LATIN1" in (await refused(own_server.address("old"))).problem


async def test_a_store_tells_which_server_keeps_it(store: PostgresStore) -> None:
    chosen = os.environ.get(postgres.CHOICE, "")
    version = chosen if chosen.isdecimal() else ""  # or else that of the wheel, or of a folder
    assert (await store.about()).startswith(f"PostgreSQL {version}")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ann:hush@db:5433/fleet", "postgresql://ann@db:5433/fleet"),
        ("postgresql://db/fleet?user=ann&password=hush", "postgresql://ann@db/fleet"),
        ("postgresql:///fleet", "postgresql:///fleet"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    assert place_of(address) == shown


def test_an_address_that_cannot_be_read_is_not_repeated() -> None:
    with pytest.raises(BadConfig) as wrong:
        place_of("postgresql://ann:hush@[db/fleet")
    assert "hush" not in f"{wrong.value.problem} {wrong.value.hint}"


async def test_a_closed_store_says_so_and_ends_every_wait(own_server: Server) -> None:
    store = await PostgresStore.open(own_server.address())
    waiting = asyncio.ensure_future(store.changed(0, within=BOUND_S))
    await asyncio.sleep(0)
    await store.close()
    for work in (waiting, store.last_seq(), add(store, task("a"))):
        with pytest.raises(StoreTrouble, match="closed"):
            async with asyncio.timeout(BOUND_S):
                await work
