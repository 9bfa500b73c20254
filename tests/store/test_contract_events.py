"""The contract: the log, and waking those who wait for it."""

import asyncio
from collections.abc import Callable, Sequence

from codefleet.domain.model import Event, TaskId
from codefleet.domain.words import State
from codefleet.ports import Store, Write
from tests.store.samples import START, add, event, task


async def test_events_get_rising_numbers_in_their_order(store: Store) -> None:
    first = await store.write(Write(events=[event("a"), event("b", data={"n": [1, None]})]))
    second = await store.write(Write(events=[event("c")]))
    assert [one.seq for one in (*first, *second)] == [1, 2, 3]
    assert await store.events() == [*first, *second]
    assert await store.last_seq() == 3


async def test_a_step_without_events_returns_none(store: Store) -> None:
    assert list(await store.write(Write(tasks=[task("a")]))) == []


async def test_a_reader_goes_on_from_the_last_seq_it_saw(store: Store) -> None:
    await store.write(Write(events=[event(kind) for kind in "abcde"]))
    assert [one.kind for one in await store.events(after=2, limit=2)] == ["c", "d"]
    assert [one.kind for one in await store.events(after=2, before=5)] == ["c", "d"]
    assert await store.events(after=5) == []


async def test_the_newest_events_come_in_the_order_of_seq(store: Store) -> None:
    await store.write(Write(events=[event(kind) for kind in "abcde"]))
    assert [one.kind for one in await store.events(newest=True, limit=2)] == ["d", "e"]
    assert [one.kind for one in await store.events(newest=True, limit=2, before=4)] == ["b", "c"]


async def test_events_are_read_by_task_and_by_kind(store: Store) -> None:
    await store.write(
        Write(
            events=[
                event("said", task=TaskId("a")),
                event("done", task=TaskId("a")),
                event("said", task=TaskId("b")),
                event("said"),
            ]
        )
    )
    of_a = await store.events(task=TaskId("a"))
    assert [one.seq for one in of_a] == [1, 2]
    assert [one.seq for one in await store.events(kinds=["said", "x"])] == [1, 3, 4]
    assert [one.seq for one in await store.events(task=TaskId("a"), kinds=["said"])] == [1]
    assert [one.seq for one in await store.events(task=TaskId("a"), newest=True, limit=1)] == [2]


async def told(store: Store, name: str, state: State, *kinds: str) -> Sequence[Event]:
    """Events of a task that is in this state."""
    events = [event(kind, task=TaskId(name)) for kind in kinds]
    return await store.write(Write(tasks=[task(name, state=state)], events=events))


async def test_events_of_finished_tasks_can_be_forgotten(store: Store) -> None:
    gone = [*await told(store, "a", State.COMPLETED, "said", "done")]
    gone += await told(store, "b", State.FAILED, "said")
    gone += await told(store, "c", State.CANCELLED, "said")
    (newest,) = await store.write(Write(events=[event("later")]))
    assert await store.forget_events(gone) == 4
    assert await store.events() == [newest]
    assert await store.forget_events(gone) == 0


async def test_events_of_unfinished_tasks_are_never_forgotten(store: Store) -> None:
    kept: list[Event] = []
    for state in (State.PENDING, State.RUNNING, State.ASKING, State.REVIEW):
        kept += await told(store, state.value, state, "said")
    kept += await store.write(Write(events=[event("of_no_task"), event("later")]))
    assert await store.forget_events(kept) == 0
    assert await store.events() == kept


async def test_what_was_spent_is_never_forgotten(store: Store) -> None:
    usage = {"input_tokens": 5, "output_tokens": 2, "cached_tokens": 0, "cost_usd": 0.5}
    done = task("a", state=State.COMPLETED)
    used = event("run.used", task=done.id, data=usage)
    kept = await store.write(Write(tasks=[done], events=[used, event("later")]))
    assert await store.forget_events(kept) == 0
    (bill,) = await store.spent(since=START)
    assert bill.usage.cost_usd == 0.5


async def test_the_newest_event_is_never_forgotten_and_seqs_go_on_rising(store: Store) -> None:
    all_of_them = await told(store, "a", State.COMPLETED, "said", "done")
    assert await store.forget_events(all_of_them) == 1
    assert await store.last_seq() == 2
    (next_one,) = await store.write(Write(events=[event("later")]))
    assert next_one.seq == 3


async def test_only_what_is_stored_just_so_is_forgotten(store: Store) -> None:
    first, _ = await told(store, "a", State.COMPLETED, "said", "done")
    await told(store, "b", State.COMPLETED, "said")
    strangers = [
        first.evolve(task=TaskId("b")),
        first.evolve(kind="asked"),
        first.evolve(seq=2),
        first.evolve(seq=99),
    ]
    assert await store.forget_events(strangers) == 0
    assert len(await store.events()) == 3


async def say(store: Store) -> None:
    await store.write(Write(events=[event("said")]))


async def test_a_fresh_store_has_nothing_new_to_tell(store: Store) -> None:
    assert await store.changed(0, within=0) is False
    assert await store.changed(0, within=0.01) is False


async def test_an_event_before_the_wait_is_told_at_once(connect: Callable[[], Store]) -> None:
    reader, writer = connect(), connect()
    await say(writer)
    assert await reader.changed(0, within=0) is True
    assert await reader.changed(1, within=0) is False


async def test_a_waiting_reader_wakes_when_another_connection_writes(
    connect: Callable[[], Store],
) -> None:
    reader, writer = connect(), connect()
    for seen in range(3):
        waiting = asyncio.ensure_future(reader.changed(seen, within=100))
        await asyncio.sleep(0)
        await say(writer)
        async with asyncio.timeout(60):
            assert await waiting is True
    assert await reader.changed(3, within=0) is False


async def test_writes_through_the_same_store_wake_a_waiting_reader(store: Store) -> None:
    waiting = asyncio.ensure_future(store.changed(0, within=100))
    await asyncio.sleep(0)
    await say(store)
    async with asyncio.timeout(60):
        assert await waiting is True


async def test_readers_of_one_store_wait_apart_and_miss_nothing(
    connect: Callable[[], Store],
) -> None:
    reader, writer = connect(), connect()
    waiting = [asyncio.ensure_future(reader.changed(0, within=100)) for _ in range(3)]
    await asyncio.sleep(0)
    await say(writer)
    async with asyncio.timeout(60):
        assert await asyncio.gather(*waiting) == [True, True, True]
    assert await reader.changed(0, within=0) is True


async def test_a_reader_that_stops_waiting_harms_no_other(connect: Callable[[], Store]) -> None:
    reader, writer = connect(), connect()
    impatient = asyncio.ensure_future(reader.changed(0, within=100))
    patient = asyncio.ensure_future(reader.changed(0, within=100))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.sleep(0)
    await say(writer)
    async with asyncio.timeout(60):
        assert await patient is True


async def test_what_is_no_event_wakes_nobody(connect: Callable[[], Store]) -> None:
    reader, writer = connect(), connect()
    await add(writer, task("a"))
    assert await reader.changed(0, within=0.01) is False
