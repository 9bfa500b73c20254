"""Concurrent writers on PostgreSQL: transactions overlap, and nothing gets out of order."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from codefleet.config import Config
from codefleet.domain.errors import Cycle, FleetError, Refused, StoreTrouble
from codefleet.domain.model import TaskId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.ports import TaskQuery, Write
from codefleet.store.events import event_body
from codefleet.store.postgres import commits
from codefleet.store.postgres.store import PostgresStore
from codefleet.wiring import open_store
from tests import postgres
from tests.store.conftest import needs_postgres
from tests.store.samples import add, claim, completed, event, take, task

pytestmark = needs_postgres

Connection = psycopg.AsyncConnection[tuple[Any, ...]]
BOUND_S = 30


@pytest.fixture
def address() -> str:
    return postgres.shared().fresh()


@pytest.fixture
async def stores(address: str) -> AsyncIterator[list[PostgresStore]]:
    opened = [PostgresStore(address) for _ in range(4)]
    yield opened
    for one in opened:
        await one.close()


@pytest.fixture
async def stranger(address: str, stores: list[PostgresStore]) -> AsyncIterator[Connection]:
    """Another writer, whose transactions the test begins and ends by hand."""
    await stores[0].last_seq()
    async with await psycopg.AsyncConnection.connect(address, autocommit=True) as connection:
        yield connection


async def begin_to_tell(stranger: Connection, kind: str) -> None:
    """Give an event its seq, as a store does, without committing yet."""
    await stranger.execute("BEGIN")
    await stranger.execute("UPDATE log SET seq = seq + 1")
    body = event_body(event(kind))
    await stranger.execute(
        "INSERT INTO events (seq, at, kind, body) SELECT seq, now(), %s, %s FROM log", [kind, body]
    )


WAITING = """
SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted AND (
    %(me)s = ANY (pg_blocking_pids(pid))
    OR EXISTS (
        SELECT 1 FROM unnest(pg_blocking_pids(pid)) AS other (pid)
        WHERE %(me)s = ANY (pg_blocking_pids(other.pid))
    )
)
"""


async def until_waiting(stranger: Connection, many: int = 1) -> None:
    """Wait until this many wait for the stranger, or for somebody who does."""
    async with asyncio.timeout(BOUND_S):
        while True:
            found = await stranger.execute(WAITING, {"me": stranger.info.backend_pid})
            if (await found.fetchone() or (0,))[0] >= many:
                return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
async def test_a_seq_is_given_only_when_all_before_it_are_visible_or_gone(
    stores: list[PostgresStore], stranger: Connection, end: str
) -> None:
    writer, reader = stores[0], stores[1]
    await begin_to_tell(stranger, "slow")
    quick = asyncio.ensure_future(writer.write(Write(events=[event("quick")])))
    await until_waiting(stranger)
    assert (await reader.last_seq(), await reader.events()) == (0, [])
    await stranger.execute(end)
    async with asyncio.timeout(BOUND_S):
        (told,) = await quick
    kinds = [one.kind for one in await reader.events()]
    assert kinds == (["slow", "quick"] if end == "COMMIT" else ["quick"])
    assert told.seq == len(kinds) == await reader.last_seq()


async def test_of_two_at_once_only_one_starts_a_task_of_overlapping_scope(
    stores: list[PostgresStore], stranger: Connection
) -> None:
    await add(stores[0], task("a", scope=("src/**",)), task("b", scope=("src/mail.py",)))
    await stranger.execute("BEGIN")
    await stranger.execute("UPDATE log SET seq = seq")  # delays commits, so that claims overlap
    claims = [asyncio.ensure_future(claim(store)) for store in stores[:2]]
    await until_waiting(stranger, many=2)
    await stranger.execute("ROLLBACK")
    async with asyncio.timeout(BOUND_S):
        given = [names for names in await asyncio.gather(*claims) if names]
    assert len(given) == 1
    assert await stores[0].counts() == {"running": 1, "pending": 1}


async def test_claims_without_scopes_wait_for_no_row_of_one_another(
    stores: list[PostgresStore], stranger: Connection
) -> None:
    await add(stores[0], task("urgent", priority=5), task("next"))
    await stranger.execute("BEGIN")
    await stranger.execute("SELECT 1 FROM tasks WHERE id = 'urgent' FOR UPDATE")
    async with asyncio.timeout(BOUND_S):
        assert await claim(stores[1]) == ["next"]
    await stranger.execute("ROLLBACK")
    assert await claim(stores[1]) == ["urgent"]


async def test_the_count_of_unmet_needs_is_right_when_needs_end_while_tasks_are_added(
    stores: list[PostgresStore],
) -> None:
    for turn in range(12):
        needs = tuple(f"n{turn}-{n}" for n in range(3))
        await add(stores[0], *(task(name) for name in needs))
        held = [await take(stores[0], ClaimFilter(tasks=(TaskId(name),))) for name in needs]
        ends = [store.write(completed(one)) for store, one in zip(stores, held, strict=False)]
        async with asyncio.timeout(BOUND_S):
            await asyncio.gather(
                *ends, add(stores[3], task(f"all{turn}", needs=needs)), return_exceptions=False
            )
    ready = {one.id for one in await stores[0].tasks(TaskQuery(ready=True))}
    assert ready == {f"all{turn}" for turn in range(12)}


async def test_two_changes_that_close_a_circle_together_are_not_both_made(
    stores: list[PostgresStore],
) -> None:
    for turn in range(8):
        a, b, c, d = (f"{name}{turn}" for name in "abcd")
        await add(stores[0], task(b), task(a, needs=(b,)), task(d), task(c, needs=(d,)))
        async with asyncio.timeout(BOUND_S):
            done = await asyncio.gather(
                add(stores[0], task(b, needs=(c,), version=1)),
                add(stores[1], task(d, needs=(a,), version=1)),
                return_exceptions=True,
            )
        assert [type(one) for one in done].count(Cycle) == 1


async def test_writers_that_cross_are_refused_or_done_and_never_stuck(
    stores: list[PostgresStore],
) -> None:
    names = ["a", "b", "c"]
    await add(stores[0], *(task(name) for name in names))

    async def rewrite(store: PostgresStore, order: list[str]) -> int:
        done = 0
        for _ in range(10):
            found = {one.id: one for one in await store.tasks(TaskQuery())}
            later = [
                one.evolve(version=one.version + 1) for one in (found[TaskId(n)] for n in order)
            ]
            try:
                await store.write(Write(tasks=later, events=[event("rewritten")]))
                done += 1
            except Refused:
                continue
        return done

    async with asyncio.timeout(BOUND_S):
        done = await asyncio.gather(
            *(rewrite(one, names if n % 2 else names[::-1]) for n, one in enumerate(stores))
        )
    assert {one.version for one in await stores[0].tasks(TaskQuery())} == {sum(done)}
    assert await stores[0].last_seq() == sum(done)


async def test_one_refused_write_among_many_harms_no_other(stores: list[PostgresStore]) -> None:
    store = stores[0]
    await add(store, task("taken"))
    steps = [Write(tasks=[task(name)], events=[event(name)]) for name in ("a", "taken", "b")]
    outcomes = await asyncio.gather(*map(store.write, steps), return_exceptions=True)
    assert [isinstance(one, FleetError) for one in outcomes] == [False, True, False]
    told = [one[0] for one in outcomes if not isinstance(one, BaseException)]
    assert [one.kind for one in await store.events()] == ["a", "b"]
    assert [(one.kind, one.seq) for one in told] == [("a", 1), ("b", 2)]


class AnHourAhead:
    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(hours=1)


async def test_a_write_that_the_server_cannot_take_harms_no_other(
    stores: list[PostgresStore],
) -> None:
    store, *_ = stores
    await store.last_seq()
    long_name = "".join(map(chr, range(0x4E00, 0x5E00)))  # no index takes as much
    work = [
        store.write(Write(events=[event("before")])),  # alone; the others wait for it
        store.write(Write(events=[event("first")])),
        store.write(Write(settings={long_name: "too long"})),
        store.write(Write(events=[event("last")])),
    ]
    _, first, refused, last = await asyncio.gather(*work, return_exceptions=True)
    assert isinstance(refused, StoreTrouble)
    assert not isinstance(first, BaseException)
    assert not isinstance(last, BaseException)
    assert [one.kind for one in await store.events()] == ["before", "first", "last"]


async def test_an_hour_of_skew_on_one_machine_changes_nothing(
    address: str, stores: list[PostgresStore], tmp_path: Path
) -> None:
    await add(stores[0], task("mine"), task("other"))
    mine = await take(stores[0])
    settings = Config(store=address)
    skewed = await open_store(settings, tmp_path, clock=AnHourAhead(), create=False)
    try:
        assert await claim(skewed) == ["other"]  # and not "mine", whose lease is valid
        assert await claim(stores[1]) == []
        (other,) = await skewed.runs(tasks=[TaskId("other")])
        assert other.lease_until - mine.run.lease_until < timedelta(seconds=BOUND_S)
        assert await skewed.now() - await stores[0].now() < timedelta(seconds=BOUND_S)
    finally:
        await skewed.close()


async def test_counts_are_right_while_and_after_their_tallies_are_folded(
    stores: list[PostgresStore], stranger: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "SWEEP_EVERY", 1)
    await add(stores[0], *(task(f"t{n}") for n in range(20)))
    async with asyncio.timeout(BOUND_S):
        for number in range(4):
            taken = [await take(store) for store in stores]
            done = zip(stores, map(completed, taken), strict=True)
            await asyncio.gather(*(store.write(step) for store, step in done))
            counted = {"pending": 16 - 4 * number, "completed": 4 * (number + 1)}
            assert await stores[number].counts() == counted
    found = await stranger.execute("SELECT count(*) FROM tallies")
    assert (await found.fetchone() or (0,))[0] < 20
