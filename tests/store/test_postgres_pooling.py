"""Only the listener needs a connection that remembers: pgbouncer may stand in between."""

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from codefleet.domain.scheduling import Want
from codefleet.ports import Store, TaskQuery, Write
from codefleet.store.postgres import connections
from codefleet.store.postgres.connections import Connection, Connections
from codefleet.store.postgres.store import PostgresStore
from tests import postgres
from tests.store.conftest import needs_postgres
from tests.store.samples import LEASE, add, claim, completed, event, ids, seat, take, task

pytestmark = needs_postgres

BOUND_S = 30


async def assert_it_works(store: Store) -> None:
    """Some of everything, many at a time."""
    names = [f"t{n:02}" for n in range(20)]
    await add(store, *(task(name) for name in names), task("last", needs=tuple(names)))

    async def work(agent: str) -> None:
        while claims := await store.claim([seat(agent)], Want(), lease=LEASE):
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
    """What is found out behind a pool."""
    return False


async def test_statements_are_kept_only_where_the_server_itself_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def kept(store: PostgresStore) -> int:
        await add(store, *(task(f"t{n}") for n in range(5)))
        for _ in range(4):
            await store.write(completed(await take(store)))
        async with store._connections.one() as connection:
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
def pooled(tmp_path: Path) -> Iterator[str]:
    """The address of a database behind a real pgbouncer that pools by transaction."""
    program = shutil.which("pgbouncer")
    if not program:
        pytest.skip("no pgbouncer on this machine")
    server = postgres.shared()
    database = f"pooled_{uuid4().hex}"
    server.run(f"CREATE DATABASE {database}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = server.folder / f"{database}.ini"
    settings.write_text(
        f"[databases]\n{database} = host={server.folder} user=fleet\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        "auth_type = any\npool_mode = transaction\ndefault_pool_size = 3\n"
    )
    user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    running = subprocess.Popen([program, "-q", settings], user=user, cwd="/")
    try:
        yield f"postgresql://fleet@127.0.0.1:{port}/{database}"
    finally:
        running.terminate()
        running.wait(BOUND_S)


async def test_a_store_works_behind_pgbouncer(pooled: str) -> None:
    async with asyncio.timeout(BOUND_S):
        while True:
            try:
                await (await psycopg.AsyncConnection.connect(pooled)).close()
                break
            except psycopg.OperationalError:
                await asyncio.sleep(0.01)
    store = PostgresStore(pooled)
    try:
        await assert_it_works(store)
    finally:
        await store.close()
