"""The contract: who gets which task."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from codefleet.domain.lifecycle import Verb, move
from codefleet.domain.model import TaskId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import Outcome
from codefleet.ports import Store, TaskQuery, Write
from tests.store.samples import (
    LEASE,
    START,
    StillClock,
    add,
    claim,
    completed,
    ended,
    get,
    ids,
    seat,
    take,
    task,
)


async def test_a_claim_moves_the_task_and_starts_a_run_under_a_lease(store: Store) -> None:
    await add(store, task("a", coder="codex"))
    claimed = await take(store)
    assert await get(store, "a") == claimed.task
    assert await store.runs() == [claimed.run]
    assert (claimed.run.agent, claimed.run.coder) == ("claude-1", "codex")
    assert claimed.run.lease_until == START + LEASE
    assert claimed.run.fence == claimed.task.fence == 1


async def test_the_events_of_a_claim_are_stored_with_it(store: Store) -> None:
    await add(store, task("a"))
    claimed = await take(store)
    assert [event.kind for event in claimed.events] == ["run.started"]
    assert await store.events() == list(claimed.events)
    assert claimed.events[0].seq == await store.last_seq()


async def test_claims_follow_priority_then_age(store: Store) -> None:
    await add(store, task("old"), task("young"))
    await add(store, task("urgent", priority=5), task("idle", priority=1))
    order = [name for _ in range(4) for name in await claim(store)]
    assert order == ["urgent", "old", "young", "idle"]


async def test_several_seats_get_several_tasks_in_one_claim(store: Store) -> None:
    await add(store, *(task(name) for name in "abc"))
    claims = await store.claim([seat("x"), seat("y")], ClaimFilter(), lease=LEASE)
    assert [(one.task.id, one.run.agent) for one in claims] == [("a", "x"), ("b", "y")]


async def test_no_seat_gets_no_task(store: Store) -> None:
    await add(store, task("a"))
    assert await store.claim([], ClaimFilter(), lease=LEASE) in ([], ())


@pytest.mark.parametrize(
    ("fields", "want", "is_given"),
    [
        ({"coder": "codex"}, ClaimFilter(coders=("claude", "codex")), True),
        ({"coder": "codex"}, ClaimFilter(coders=("claude",)), False),
        ({"coder": None}, ClaimFilter(coders=("claude",)), True),
        ({"coder": "codex"}, ClaimFilter(resting=(("shop", "codex"),)), False),
        ({"coder": "codex"}, ClaimFilter(resting=(("shop", "claude"), ("mail", "codex"))), True),
        ({"coder": None}, ClaimFilter(resting=(("shop", ""),)), False),
        ({"coder": None}, ClaimFilter(resting=(("shop", "codex"),)), True),
        ({"repo": "shop"}, ClaimFilter(repos=("shop", "mail")), True),
        ({"repo": "shop"}, ClaimFilter(repos=("mail",)), False),
        ({"labels": ("a", "b", "c")}, ClaimFilter(labels=("a", "c")), True),
        ({"labels": ("a\0", '"\\{},NULL')}, ClaimFilter(labels=("a\0", '"\\{},NULL')), True),
        ({"labels": ("a",)}, ClaimFilter(labels=("a", "c")), False),
        ({"labels": ()}, ClaimFilter(labels=("a",)), False),
        ({}, ClaimFilter(tasks=(TaskId("two"), TaskId("one"))), True),
        ({}, ClaimFilter(tasks=(TaskId("two"),)), False),
        ({"paused": True}, ClaimFilter(), False),
        ({"assignee": "claude-1"}, ClaimFilter(), True),
        ({"assignee": "claude-2"}, ClaimFilter(), False),
    ],
)
async def test_a_claim_gives_only_what_is_wanted(
    store: Store, fields: dict[str, Any], want: ClaimFilter, is_given: bool
) -> None:
    await add(store, task("one", **fields))
    assert await claim(store, want) == (["one"] if is_given else [])


async def test_a_wanted_task_is_claimed_past_more_urgent_ones(store: Store) -> None:
    await add(store, task("urgent", priority=5), task("wanted", priority=1))
    assert await claim(store, ClaimFilter(tasks=(TaskId("wanted"),))) == ["wanted"]


async def test_a_claim_limited_to_some_tasks_takes_them_in_order_and_no_others(
    store: Store, clock: StillClock
) -> None:
    tasks = [task("other", priority=5), task("low", priority=1), task("high", priority=4)]
    await add(store, *tasks, task("late", not_before=clock.now() + timedelta(hours=1)))
    want = ClaimFilter(tasks=(TaskId("low"), TaskId("high"), TaskId("late")))
    claims = await store.claim([seat(name) for name in "abcd"], want, lease=LEASE)
    assert [each.task.id for each in claims] == ["high", "low"]
    clock.advance(seconds=31)
    assert sorted(await claim(store, ClaimFilter(tasks=(TaskId("low"),)))) == ["low"]


async def test_an_assigned_task_goes_to_its_seat_and_the_others_share_the_rest(
    store: Store,
) -> None:
    await add(store, task("any", priority=5), task("for-x", assignee="x"), task("more"))
    claims = await store.claim([seat("x"), seat("y")], ClaimFilter(), lease=LEASE)
    assert {one.task.id: one.run.agent for one in claims} == {"any": "y", "for-x": "x"}


async def test_two_tasks_for_one_seat_take_only_that_seat(store: Store) -> None:
    await add(store, task("first", assignee="x"), task("second", assignee="x"), task("any"))
    claims = await store.claim([seat("x"), seat("y")], ClaimFilter(), lease=LEASE)
    assert {one.task.id: one.run.agent for one in claims} == {"first": "x", "any": "y"}


async def test_overlapping_scopes_do_not_start_in_one_claim(store: Store) -> None:
    await add(
        store,
        task("mail", scope=("src/mail/**",)),
        task("post", scope=("src/mail/post.py",)),
        task("shop", scope=("src/shop/**",)),
        task("elsewhere", scope=("src/mail/**",), repo="other"),
    )
    seats = [seat(name) for name in "wxyz"]
    assert await claim(store, seats=seats) == ["mail", "shop", "elsewhere"]


async def test_a_seat_looks_past_any_number_of_tasks_that_would_collide(store: Store) -> None:
    await add(store, task("mail", scope=("src/mail/**",)))
    await take(store)
    colliding = [task(f"mail-{n}", priority=5, scope=(f"src/mail/{n}.py",)) for n in range(20)]
    await add(store, *colliding, task("shop", scope=("src/shop/**",)), task("free"))
    two = [seat("claude-2"), seat("claude-3")]
    assert await claim(store, seats=two) == ["shop", "free"]


async def test_a_scope_is_free_again_when_its_holder_stops_running(store: Store) -> None:
    await add(store, task("mail", scope=("src/mail/**",)), task("post", scope=("src/mail/a.py",)))
    holder = await take(store)
    assert await claim(store) == []
    await store.write(ended(holder, Verb.ASK, Outcome.ASKED))
    assert await claim(store) == ["post"]


async def test_work_that_waits_for_a_review_holds_no_scope(store: Store) -> None:
    await add(store, task("mail", scope=("src/**",)), task("post", scope=("src/a.py",)))
    await store.write(ended(await take(store), Verb.SUBMIT, Outcome.SUBMITTED))
    assert await claim(store) == ["post"]


async def test_work_that_is_about_to_land_holds_its_scope_until_it_did(store: Store) -> None:
    await add(store, task("mail", scope=("src/**",)), task("post", scope=("src/a.py",)))
    await store.write(ended(await take(store), Verb.SUBMIT, Outcome.SUBMITTED, approved=True))
    assert await claim(store) == []
    await add(store, move(await get(store, "mail"), Verb.LAND))
    assert await claim(store) == ["post"]


async def test_a_lost_lease_holds_no_scope(store: Store, clock: StillClock) -> None:
    await add(store, task("mail", scope=("src/**",), labels=("x",)), task("post", scope=("src/a",)))
    await claim(store)
    clock.advance(seconds=31)
    assert await claim(store, ClaimFilter(tasks=(TaskId("post"),))) == ["post"]


async def test_a_task_starts_at_its_not_before_and_no_sooner(
    store: Store, clock: StillClock
) -> None:
    await add(store, task("rests", not_before=START + timedelta(seconds=10), priority=5))
    clock.advance(seconds=9.999999)
    assert await claim(store) == []
    assert await store.next_start() == START + timedelta(seconds=10)
    clock.advance(seconds=0.000001)
    assert await claim(store) == ["rests"]


async def test_a_rest_that_begins_in_the_future_holds_nobody(
    store: Store, clock: StillClock
) -> None:
    """The clock was a year ahead when it was written, and has been corrected since."""
    later = START + timedelta(days=365)
    rest = {"resting_since": later, "not_before": later + timedelta(minutes=5)}
    await add(store, task("parked", **rest), task("planned", not_before=later))
    assert await ids(store, TaskQuery(ready=True)) == ["parked"]
    assert await store.next_start() == later
    assert await claim(store) == ["parked"]
    assert await claim(store) == []


async def test_next_start_is_the_first_moment_that_frees_something(
    store: Store, clock: StillClock
) -> None:
    assert await store.next_start() is None
    soon, late = START + timedelta(seconds=40), START + timedelta(seconds=50)
    await add(store, task("late", not_before=late), task("soon", not_before=soon), task("now"))
    await add(
        store,
        task("paused", not_before=START + timedelta(seconds=1), paused=True),
        task("blocked", not_before=START + timedelta(seconds=1), needs=("late",)),
    )
    assert await store.next_start() == soon
    await claim(store)
    assert await store.next_start() == START + LEASE
    clock.advance(seconds=45)
    assert await store.next_start() == late


async def test_nothing_starts_while_the_fleet_is_paused(store: Store) -> None:
    await add(store, task("a"))
    await store.write(Write(settings={"paused": "yes"}))
    assert await claim(store) == []
    await store.write(Write(settings={"paused": None}))
    assert await claim(store) == ["a"]


async def test_of_two_who_claim_only_the_first_succeeds(connect: Callable[[], Store]) -> None:
    first, second = connect(), connect()
    await add(first, task("only"))
    given = await asyncio.gather(claim(first), claim(second))
    assert sorted(given) == [[], ["only"]]


async def test_each_task_goes_to_exactly_one_of_many_connections(
    connect: Callable[[], Store],
) -> None:
    stores = [connect() for _ in range(4)]
    names = [f"t{number:02}" for number in range(40)]
    await add(stores[0], *(task(name) for name in names))

    async def drain(store: Store) -> list[str]:
        mine: list[str] = []
        while given := await claim(store):
            mine += given
        return mine

    async with asyncio.timeout(30):
        shares = await asyncio.gather(*(drain(store) for store in stores * 3))
    assert sorted(name for share in shares for name in share) == names


async def test_completing_and_unblocking_are_one_step_for_every_reader(
    connect: Callable[[], Store],
) -> None:
    writer, reader = connect(), connect()
    await add(writer, task("a"), task("b", needs=("a",)))
    done = completed(await take(writer))
    write = asyncio.ensure_future(writer.write(done))
    seen = []
    while not write.done():
        seen.append(dict(await reader.counts()))
        await asyncio.sleep(0)
    seen.append(dict(await reader.counts()))
    before, after = {"running": 1, "blocked": 1}, {"completed": 1, "pending": 1}
    assert all(counts in (before, after) for counts in seen)
    assert seen[-1] == after
