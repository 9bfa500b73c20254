"""The contract for caps: never more agents than allowed, however many claim at once."""

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from codefleet.domain.caps import Caps
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import RunnerId, TaskId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.ports import Store, TaskQuery
from tests.store.samples import LEASE, StillClock, add, completed, take, task

BOUND_S = 60


def seats(many: int, host: str = "here", coder: str = "claude") -> list[Seat]:
    runner = RunnerId(f"runner-{host}")
    return [Seat(f"{host}-{number}", runner, host, coder) for number in range(many)]


async def claimed(store: Store, caps: Caps | None, given: list[Seat]) -> list[str]:
    claims = await store.claim(given, ClaimFilter(caps=caps), lease=LEASE)
    return [claim.task.id for claim in claims]


@pytest.mark.parametrize(
    "caps",
    [
        Caps(fleet=5),
        Caps(machine=1),
        Caps(repos=(("shop", 5),)),
        Caps(coders=(("claude", 5),)),
        Caps(fleet=9, machine=3, repos=(("shop", 7), ("other", 1)), coders=(("claude", 5),)),
    ],
)
async def test_a_cap_holds_exactly_however_many_claim_at_once(
    store: Store, connect: Callable[[], Store], caps: Caps
) -> None:
    await add(store, *(task(f"t{number:02}") for number in range(20)))
    stores = [connect() for _ in range(5)]
    async with asyncio.timeout(BOUND_S):
        for _ in range(2):
            await asyncio.gather(
                *(claimed(one, caps, seats(3, f"host-{n}")) for n, one in enumerate(stores))
            )
    live = await store.runs(live=True)
    assert len(live) == 5
    if caps == Caps(machine=1):
        assert set(Counter(run.host for run in live).values()) == {1}


async def test_what_ends_makes_room_for_the_next(store: Store) -> None:
    await add(store, task("a"), task("b"))
    want = ClaimFilter(caps=Caps(fleet=1))
    held = await take(store, want)
    assert await claimed(store, want.caps, seats(2)) == []
    await store.write(completed(held))
    assert await claimed(store, want.caps, seats(2)) == ["b"]


async def test_a_run_whose_lease_ran_out_takes_no_place(store: Store, clock: StillClock) -> None:
    await add(store, task("a"), task("b"))
    caps = Caps(fleet=1)
    assert await claimed(store, caps, seats(1, "gone")) == ["a"]
    assert await claimed(store, caps, seats(1)) == []
    clock.advance(seconds=LEASE.total_seconds() + 1)
    assert await claimed(store, caps, seats(1)) == ["a"]
    assert await claimed(store, caps, seats(1, "other")) == []


async def test_what_is_full_is_passed_by_for_what_is_not(store: Store) -> None:
    await add(store, task("a1", priority=5), task("a2", priority=5), task("b", repo="other"))
    caps = Caps(repos=(("shop", 1),))
    assert await claimed(store, caps, seats(1)) == ["a1"]
    assert await claimed(store, caps, seats(3)) == ["b"]


async def test_what_becomes_full_within_a_claim_is_passed_by_from_there_on(store: Store) -> None:
    shop = [task(f"s{number:02}", priority=5, scope=(f"s/{number}",)) for number in range(30)]
    mine = [task(f"m{number:02}", repo="mine", assignee="here-2") for number in range(30)]
    rest = [task("c1", repo="rest", coder="codex"), task("c2", repo="rest", coder="codex")]
    await add(store, *shop, *mine, *rest, task("last", repo="rest", priority=1))
    caps = Caps(repos=(("shop", 2),), coders=(("codex", 1),))
    assert await claimed(store, caps, seats(9)) == ["s00", "s01", "m00", "c1", "last"]


async def test_a_task_that_names_no_coder_counts_for_that_of_the_seat(store: Store) -> None:
    await add(store, task("own", coder="codex"), task("default"), task("more"))
    caps = Caps(coders=(("claude", 1), ("codex", 1)))
    assert await claimed(store, caps, seats(3)) == ["own", "default"]
    assert await claimed(store, caps, seats(3, coder="codex")) == []
    assert await claimed(store, caps, seats(3, coder="gemini")) == ["more"]


async def test_an_assigned_task_under_caps_goes_to_its_own_seat(store: Store) -> None:
    await add(store, task("a", assignee="here-1"), task("b"))
    assert await claimed(store, Caps(fleet=1), seats(2)) == ["a"]
    (run,) = await store.runs(tasks=[TaskId("a")])
    assert run.agent == "here-1"


async def test_a_task_held_by_its_scope_takes_no_place(store: Store) -> None:
    await add(store, task("a", scope=("src/**",)), task("b", scope=("src/x.py",)), task("c"))
    assert await claimed(store, Caps(repos=(("shop", 2),)), seats(3)) == ["a", "c"]


async def test_without_caps_every_seat_is_filled(store: Store) -> None:
    await add(store, *(task(f"t{number}") for number in range(4)))
    assert len(await claimed(store, None, seats(4))) == 4
    assert len(await store.tasks(TaskQuery(ready=True))) == 0


async def test_an_empty_coder_counts_for_the_default_one(store: Store) -> None:
    await add(store, *(task(name, coder="") for name in "ab"))
    caps = Caps(coders=(("claude", 1),))
    async with asyncio.timeout(BOUND_S):
        assert await claimed(store, caps, seats(2)) == ["a"]
