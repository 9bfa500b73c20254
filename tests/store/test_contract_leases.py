"""The contract: versions, fences and leases. Latecomers are refused, and leave no trace."""

import pytest

from codefleet.domain import lifecycle
from codefleet.domain.errors import LostRun, NotFound, Stale
from codefleet.domain.lifecycle import Verb, move
from codefleet.domain.model import RunId, RunnerId, TaskId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import Outcome, Reason
from codefleet.ports import Store, TaskQuery, Write
from tests.store.samples import (
    LEASE,
    START,
    StillClock,
    add,
    claim,
    completed,
    ended,
    event,
    get,
    ids,
    renewed,
    take,
    task,
)


async def test_a_write_with_an_old_version_is_refused(store: Store) -> None:
    await add(store, task("a"))
    await add(store, task("a", title="Mine", version=1))
    with pytest.raises(Stale, match="task a"):
        await add(store, task("a", title="Too late", version=1))
    assert (await get(store, "a")).title == "Mine"


async def test_a_write_that_skips_a_version_is_refused(store: Store) -> None:
    await add(store, task("a"))
    with pytest.raises(Stale):
        await add(store, task("a", version=2))
    with pytest.raises(Stale):
        await add(store, task("never stored", version=1))


async def test_a_refused_write_leaves_no_event(store: Store) -> None:
    await add(store, task("a"))
    step = Write(
        tasks=[task("b"), task("a", version=7)],
        settings={"colour": "blue"},
        events=[event("first"), event("second")],
    )
    with pytest.raises(Stale):
        await store.write(step)
    assert await store.last_seq() == 0
    assert await store.events() == []
    assert await store.settings() == {}
    assert await store.matching("b") == []


async def test_a_write_with_an_old_fence_is_refused_and_leaves_no_event(store: Store) -> None:
    await add(store, task("a"))
    before = await store.last_seq()
    with pytest.raises(LostRun, match="lease on a"):
        await store.write(Write(events=[event()], fences={TaskId("a"): 1}))
    assert await store.last_seq() == before


async def test_a_fence_of_a_task_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(NotFound, match="ghost"):
        await store.write(Write(events=[event()], fences={TaskId("ghost"): 0}))


async def test_the_holder_may_write_under_its_fence(store: Store) -> None:
    await add(store, task("a"))
    claimed = await take(store)
    await store.write(Write(events=[event("run.said")], fences={claimed.task.id: 1}))
    assert (await store.events(newest=True, limit=1))[0].kind == "run.said"


async def test_who_ends_a_run_may_reword_its_task(store: Store) -> None:
    await add(store, task("a", title="Old words"))
    await store.write(ended(await take(store), Verb.RELEASE, Outcome.FAILED, title="New words"))
    assert await ids(store, TaskQuery(text="new words")) == ["a"]
    assert await ids(store, TaskQuery(text="old words")) == []


async def test_who_ends_a_run_may_change_what_its_task_needs(store: Store) -> None:
    await add(store, task("a"), task("b"))
    await store.write(ended(await take(store), Verb.RELEASE, Outcome.FAILED, needs=("b",)))
    assert await ids(store, TaskQuery(ready=True)) == ["b"]


async def test_who_knows_the_task_but_not_its_fence_is_refused(store: Store) -> None:
    await add(store, task("a"))
    held = await take(store)
    with pytest.raises(LostRun, match="lease on a"):
        await store.write(completed(held)._replace(fences={TaskId("a"): held.task.fence - 1}))
    assert await store.counts() == {"running": 1}


async def test_a_need_that_is_noted_again_after_its_end_is_met_once(store: Store) -> None:
    await add(store, task("a"), task("b"), task("c", needs=("a", "b")))
    held = await take(store)
    end = completed(held)
    await store.write(end)
    again = Write(
        tasks=[end.tasks[0].evolve(version=end.tasks[0].version + 1)],
        runs=[end.runs[0].evolve(version=end.runs[0].version + 1)],
    )
    await store.write(again)
    assert await ids(store, TaskQuery(ready=True)) == ["b"]


async def test_a_run_of_an_old_version_is_refused(store: Store) -> None:
    await add(store, task("a"))
    claimed = await take(store)
    await store.write(renewed(claimed.run, START + LEASE * 2))
    with pytest.raises(Stale, match=r"run a\.1"):
        await store.write(renewed(claimed.run, START + LEASE * 3))


async def test_a_second_live_run_of_a_task_is_refused(store: Store) -> None:
    await add(store, task("a"))
    claimed = await take(store)
    twin = claimed.run.evolve(id=RunId("a.2"), number=2)
    with pytest.raises(Stale):
        await store.write(Write(runs=[twin]))


async def test_a_live_lease_keeps_others_out(store: Store, clock: StillClock) -> None:
    await add(store, task("a"))
    await claim(store)
    clock.advance(seconds=29.999999)
    assert await claim(store) == []


async def test_a_lease_that_ran_out_makes_the_task_claimable_again(
    store: Store, clock: StillClock
) -> None:
    await add(store, task("a"))
    first = await take(store)
    clock.advance(seconds=30)
    second = await take(store, agent="claude-2")
    assert second.task.fence == first.task.fence + 1
    assert second.run.id == "a.2"
    assert second.lost is not None
    lost, live = await store.runs(tasks=[TaskId("a")])
    assert (lost.id, lost.outcome, lost.reason) == ("a.1", Outcome.FAILED, Reason.CRASHED)
    assert live == second.run
    kinds = [event.kind for event in await store.events()]
    assert kinds == ["run.started", "run.failed", "run.started"]


async def test_lost_tasks_come_before_waiting_ones(store: Store, clock: StillClock) -> None:
    await add(store, task("lost", priority=1))
    await claim(store)
    await add(store, task("waiting", priority=5))
    clock.advance(seconds=31)
    assert await claim(store) == ["lost"]


async def test_a_lost_task_is_claimed_only_by_who_wants_it(store: Store, clock: StillClock) -> None:
    await add(store, task("a", coder="codex"))
    await claim(store)
    clock.advance(seconds=31)
    assert await claim(store, ClaimFilter(coders=("claude",))) == []
    assert await claim(store, ClaimFilter(tasks=(TaskId("b"),))) == []
    assert await claim(store, ClaimFilter(coders=("codex",))) == ["a"]


async def test_a_paused_task_is_not_taken_over(store: Store, clock: StillClock) -> None:
    await add(store, task("a"), task("b"))
    claimed = await take(store)
    await add(store, move(claimed.task, Verb.PAUSE, paused=True))
    clock.advance(seconds=31)
    assert await claim(store) == ["b"]


async def test_a_renewed_lease_lasts_longer(store: Store, clock: StillClock) -> None:
    await add(store, task("a"))
    claimed = await take(store)
    clock.advance(seconds=29)
    await store.write(renewed(claimed.run, clock.now() + LEASE))
    clock.advance(seconds=29)
    assert await claim(store) == []


async def test_renewing_a_lost_lease_is_refused(store: Store, clock: StillClock) -> None:
    await add(store, task("a"))
    first = await take(store)
    clock.advance(seconds=31)
    await take(store, agent="claude-2")
    with pytest.raises(Stale):
        await store.write(renewed(first.run, clock.now() + LEASE))


async def test_the_former_holder_cannot_complete_the_task(store: Store, clock: StillClock) -> None:
    await add(store, task("a"), task("b", needs=("a",)))
    first = await take(store)
    clock.advance(seconds=31)
    second = await take(store)
    before = await store.last_seq()
    with pytest.raises(LostRun):
        await store.write(completed(first))
    assert await store.last_seq() == before
    assert await get(store, "a") == second.task
    assert await store.counts() == {"running": 1, "blocked": 1}


async def test_an_adopted_run_goes_on_under_a_new_fence(store: Store) -> None:
    await add(store, task("a"))
    claimed = await take(store)
    taken = lifecycle.adopt(claimed.task, claimed.run, RunnerId("runner-2"), START, START + LEASE)
    await store.write(Write(tasks=[taken.task], runs=[taken.run], events=taken.events))
    with pytest.raises(LostRun):
        await store.write(renewed(claimed.run, START + LEASE))
    await store.write(completed(taken))
    assert await store.counts() == {"completed": 1}


async def test_of_two_who_adopt_only_the_first_succeeds(store: Store) -> None:
    await add(store, task("a"))
    claimed = await take(store)
    for runner in ("runner-2", "runner-3"):
        taken = lifecycle.adopt(claimed.task, claimed.run, RunnerId(runner), START, START + LEASE)
        step = Write(tasks=[taken.task], runs=[taken.run], events=taken.events)
        if runner == "runner-2":
            await store.write(step)
        else:
            with pytest.raises(Stale):
                await store.write(step)
    (run,) = await store.runs(live=True)
    assert run.runner == "runner-2"


async def test_a_retried_task_waits_until_its_cancelled_run_has_ended(store: Store) -> None:
    await add(store, task("a"))
    claimed = await take(store)
    cancelled = move(claimed.task, Verb.CANCEL, fence=claimed.task.fence + 1)
    await add(store, cancelled)
    await add(store, move(cancelled, Verb.RETRY))
    assert await claim(store) == []
    over = lifecycle.end(claimed.run, Outcome.CANCELLED, START)
    await store.write(Write(runs=[over]))
    assert await claim(store) == ["a"]


async def test_a_retried_task_waits_no_longer_than_the_old_lease(
    store: Store, clock: StillClock
) -> None:
    await add(store, task("a"))
    claimed = await take(store)
    cancelled = move(claimed.task, Verb.CANCEL, fence=claimed.task.fence + 1)
    await add(store, cancelled)
    await add(store, move(cancelled, Verb.RETRY))
    assert await store.next_start() == START + LEASE
    clock.advance(seconds=30)
    again = await take(store)
    assert again.lost is not None
    assert [run.id for run in await store.runs(live=True)] == ["a.2"]
