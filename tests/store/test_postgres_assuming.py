"""Writes that assume what is stored: one round trip, and a read if they were wrong."""

import asyncio

from codefleet.domain.errors import Duplicate, LostRun, Stale
from codefleet.domain.model import TaskId
from codefleet.ports import Write
from tests.store.conftest import needs_postgres
from tests.store.proxy import over_a_wire
from tests.store.samples import LEASE, START, add, completed, event, renewed, take, task

pytestmark = needs_postgres


async def test_to_add_to_renew_and_to_complete_is_one_way_to_the_server_each() -> None:
    async with over_a_wire() as (store, wire, _):
        await add(store, task("before"))
        ways = []
        for step in (
            Write(tasks=[task("a", priority=5)], events=[event("task.added")]),
            renewed((held := await take(store)).run, START + 2 * LEASE),
            completed(held._replace(run=held.run.evolve(version=1))),
        ):
            before = wire.ways
            await store.write(step)
            ways.append(wire.ways - before)
        assert ways == [1, 1, 1]
        assert await store.counts() == {"pending": 1, "completed": 1}


async def test_who_was_wrong_learns_what_is_so_and_the_others_are_not_harmed() -> None:
    async with over_a_wire() as (store, _, _):
        await add(store, task("a"), task("b"), task("c"))
        one, two, three = [await take(store, agent=f"agent-{n}") for n in range(3)]
        stale = completed(two._replace(task=two.task.evolve(version=7)))
        lost = Write(events=[event()], fences={three.task.id: 7})
        steps = [completed(one), stale, lost, Write(tasks=[task("a")]), Write(tasks=[task("d")])]
        ends = await asyncio.gather(*map(store.write, steps), return_exceptions=True)
        kinds = [type(end) for end in ends]
        assert kinds[1:4] == [Stale, LostRun, Duplicate]
        assert await store.counts() == {"completed": 1, "running": 2, "pending": 1}


async def test_two_who_say_that_they_hold_a_task_are_told_apart() -> None:
    async with over_a_wire() as (store, _, _):
        await add(store, task("a"))
        held = await take(store)
        steps = [
            Write(events=[event(kind)], fences={TaskId("a"): fence})
            for kind, fence in (("late", held.run.fence - 1), ("holder", held.run.fence))
        ]
        late, told = await asyncio.gather(*map(store.write, steps), return_exceptions=True)
        assert isinstance(late, LostRun)
        assert [one.kind for one in await store.events(newest=True, limit=1)] == ["holder"]
        assert not isinstance(told, BaseException)
