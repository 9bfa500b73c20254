"""The contract for workers: one unfinished task per handle and team, and caps of swarms."""

import asyncio
from collections.abc import Callable

import pytest

from codefleet.domain.errors import Duplicate, Stale
from codefleet.domain.lifecycle import Seat, Verb, move
from codefleet.domain.model import RunnerId, Swarm, SwarmId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import UNFINISHED
from codefleet.ports import Store, TaskQuery, Write
from tests.store.samples import (
    LEASE,
    START,
    StillClock,
    add,
    completed,
    event,
    get,
    ids,
    take,
    task,
)

BOUND_S = 60


def swarm(name: str = "s1", most: int = 2) -> Swarm:
    return Swarm(id=SwarmId(name), name="hive", max_agents=most, created_at=START)


async def claimed(store: Store, many: int, host: str = "here") -> list[str]:
    runner = RunnerId(f"runner-{host}")
    seats = [Seat(f"{host}-{number}", runner, host, "claude") for number in range(many)]
    return [one.task.id for one in await store.claim(seats, ClaimFilter(), lease=LEASE)]


async def test_a_handle_is_taken_while_a_task_of_the_team_with_it_is_unfinished(
    store: Store,
) -> None:
    await add(store, task("a", handle="scout"))
    with pytest.raises(Duplicate, match="scout is already the handle of a"):
        await store.write(Write(tasks=[task("b", handle="scout")], events=[event()]))
    with pytest.raises(Duplicate):
        await add(store, task("c", handle="twin"), task("d", handle="twin"))
    assert await ids(store, TaskQuery()) == ["a"]
    assert await store.last_seq() == 0
    await add(store, task("e", handle="scout", team="web"), task("f", handle="scout2"))
    await store.write(completed(await take(store)))
    await add(store, task("b", handle="scout"))
    assert await ids(store, TaskQuery(handle="scout", newest_first=True)) == ["b", "e", "a"]
    assert await ids(store, TaskQuery(handle="scout", states=UNFINISHED)) == ["e", "b"]
    assert await ids(store, TaskQuery(workers=True)) == ["a", "e", "f", "b"]


async def test_a_task_that_comes_back_finds_its_handle_taken(store: Store) -> None:
    await add(store, task("a", handle="scout"))
    gone = move(await get(store, "a"), Verb.CANCEL)
    await store.write(Write(tasks=[gone]))
    await add(store, task("b", handle="scout"))
    with pytest.raises(Duplicate, match="scout is already the handle of b"):
        await store.write(Write(tasks=[move(gone, Verb.RETRY)]))
    edited = (await get(store, "b")).evolve(handle="other", version=1)
    await store.write(Write(tasks=[edited]))
    await store.write(Write(tasks=[move(gone, Verb.RETRY)]))
    assert await ids(store, TaskQuery(handle="scout")) == ["a"]


async def test_of_many_who_take_a_handle_at_once_one_gets_it(
    store: Store, connect: Callable[[], Store]
) -> None:
    stores = [connect() for _ in range(4)]
    tries = [
        add(one, task(f"t{n}{again}", handle="scout"))
        for n, one in enumerate(stores)
        for again in range(3)
    ]
    async with asyncio.timeout(BOUND_S):
        done = await asyncio.gather(*tries, return_exceptions=True)
    assert [type(each) for each in done if each is not None] == [Duplicate] * 11
    assert len(await ids(store, TaskQuery(handle="scout"))) == 1


async def test_a_swarm_never_has_more_agents_at_work_than_it_may(
    store: Store, connect: Callable[[], Store]
) -> None:
    await store.write(Write(records=[swarm(most=3)]))
    await add(store, *(task(f"t{n:02}", swarm="s1", priority=5) for n in range(20)))
    await add(store, task("other"))
    stores = [connect() for _ in range(5)]
    async with asyncio.timeout(BOUND_S):
        for _ in range(2):
            await asyncio.gather(*(claimed(one, 3, f"host-{n}") for n, one in enumerate(stores)))
    live = await store.runs(live=True)
    tasks = await store.tasks(TaskQuery(ids=[run.task for run in live]))
    assert sorted(task.swarm or "" for task in tasks) == ["", "s1", "s1", "s1"]
    assert await ids(store, TaskQuery(swarm="s1", limit=2)) == ["t00", "t01"]


async def test_one_claim_for_many_seats_passes_by_what_fills_a_swarm(store: Store) -> None:
    await store.write(Write(records=[swarm("s1", 1), swarm("s2", 2)]))
    await add(store, *(task(f"a{n:02}", swarm="s1", priority=5) for n in range(30)))
    await add(store, *(task(f"b{n:02}", swarm="s2", priority=4) for n in range(30)))
    await add(store, task("last", priority=1))
    assert await claimed(store, 9) == ["a00", "b00", "b01", "last"]


async def test_an_agent_that_ends_or_is_lost_leaves_its_place_in_the_swarm(
    store: Store, clock: StillClock
) -> None:
    await store.write(Write(records=[swarm(most=1)]))
    await add(store, task("a", swarm="s1"), task("b", swarm="s1"), task("c", swarm="s1"))
    first = await take(store)
    assert await claimed(store, 2) == []
    await store.write(completed(first))
    assert await claimed(store, 2) == ["b"]
    clock.advance(seconds=LEASE.total_seconds() + 1)
    assert await claimed(store, 2, "other") == ["b"]
    assert await claimed(store, 2) == []


async def test_nothing_of_a_killed_or_unknown_swarm_starts(store: Store) -> None:
    await store.write(Write(records=[swarm()]))
    await add(store, task("a", swarm="s1"), task("b", swarm="nope"))
    await store.write(Write(records=[swarm().evolve(killed_at=START, version=1)]))
    assert await claimed(store, 2) == []
    with pytest.raises(Stale):
        await store.write(Write(records=[swarm().evolve(killed_at=START, version=1)]))
