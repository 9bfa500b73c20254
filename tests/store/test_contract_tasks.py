"""The contract: adding tasks, their needs, and reading them back."""

from datetime import timedelta, timezone

import pytest

from codefleet.domain.errors import Cycle, Duplicate, NotFound, Refused
from codefleet.domain.lifecycle import Verb, move
from codefleet.domain.model import Budget, TaskId
from codefleet.domain.words import State
from codefleet.ports import Store, TaskQuery, Write
from tests.store.samples import (
    START,
    StillClock,
    add,
    claim,
    completed,
    event,
    get,
    ids,
    take,
    task,
)


async def test_a_task_comes_back_as_it_was_given(store: Store) -> None:
    given = task(
        "full",
        prompt='say "hi"\n\t\u2028 \U0001f680 \\',
        priority=5,
        labels=("b", "a"),
        scope=("src/**",),
        checks=("pytest -q", "ruff check"),
        coder="claude",
        budget=Budget(usd=1.5),
        not_before=START,
    )
    await add(store, task("base"), given.evolve(needs=("base",)))
    assert await get(store, "full") == given.evolve(needs=("base",))


async def test_tasks_are_added_all_or_none(store: Store) -> None:
    with pytest.raises(NotFound, match="no task nowhere"):
        await store.write(
            Write(tasks=[task("one"), task("two", needs=("nowhere",))], events=[event()])
        )
    assert await store.tasks(TaskQuery()) == []
    assert await store.last_seq() == 0


async def test_tasks_may_need_others_of_the_same_batch_in_any_order(store: Store) -> None:
    await add(store, task("roof", needs=("wall",)), task("wall", needs=("ground",)), task("ground"))
    assert (await get(store, "roof")).needs == ("wall",)
    assert await claim(store) == ["ground"]


async def test_a_cycle_inside_a_batch_is_refused(store: Store) -> None:
    with pytest.raises(Cycle):
        await add(store, task("egg", needs=("hen",)), task("hen", needs=("egg",)))
    assert await store.tasks(TaskQuery()) == []


async def test_a_task_that_needs_itself_is_refused(store: Store) -> None:
    with pytest.raises(Cycle):
        await add(store, task("self", needs=("self",)))


async def test_a_changed_need_that_closes_a_circle_is_refused(store: Store) -> None:
    await add(store, task("a"), task("b", needs=("a",)), task("c", needs=("b",)))
    with pytest.raises(Cycle, match="c"):
        await store.write(Write(tasks=[task("a", needs=("c",), version=1)], events=[event()]))
    assert (await get(store, "a")).needs == ()
    assert await store.last_seq() == 0


async def test_a_circle_through_a_new_task_is_refused(store: Store) -> None:
    await add(store, task("a"))
    with pytest.raises(Cycle):
        await add(store, task("b", needs=("a",)), task("a", needs=("b",), version=1))
    assert await ids(store, TaskQuery()) == ["a"]


async def test_a_duplicate_id_is_refused(store: Store) -> None:
    await add(store, task("one"))
    with pytest.raises(Duplicate, match="one"):
        await add(store, task("new"), task("one", title="Another"))
    with pytest.raises(Duplicate, match="twin"):
        await add(store, task("twin"), task("twin"))
    assert await ids(store, TaskQuery()) == ["one"]
    assert (await get(store, "one")).title == "Do one"


async def test_a_changed_need_to_nowhere_is_refused(store: Store) -> None:
    await add(store, task("a"))
    with pytest.raises(NotFound, match="no task ghost"):
        await add(store, task("a", needs=("ghost",), version=1))


async def test_a_task_is_ready_only_when_all_it_needs_is_completed(store: Store) -> None:
    await add(store, task("a", priority=5), task("b"), task("c", needs=("a", "b"), priority=5))
    await store.write(completed(await take(store)))
    assert await ids(store, TaskQuery(ready=True)) == ["b"]
    await store.write(completed(await take(store)))
    assert await ids(store, TaskQuery(ready=True)) == ["c"]


async def test_a_task_that_needs_completed_ones_is_ready_at_once(store: Store) -> None:
    await add(store, task("a"))
    await store.write(completed(await take(store)))
    await add(store, task("b", needs=("a",)))
    assert await claim(store) == ["b"]


async def test_a_task_waits_for_needs_it_was_given_later(store: Store) -> None:
    await add(store, task("a", priority=1), task("b"))
    await add(store, task("b", needs=("a",), version=1))
    assert await claim(store) == ["a"]
    assert await claim(store) == []


async def test_a_task_whose_need_is_dropped_may_start(store: Store) -> None:
    await add(store, task("a"), task("b", needs=("a",), priority=5))
    await add(store, task("b", priority=5, version=1))
    assert await claim(store) == ["b"]
    assert await store.needed_by(TaskId("a")) == []


async def test_completing_and_changing_needs_in_one_step_counts_right(store: Store) -> None:
    await add(store, task("a"), task("b"), task("c", needs=("b",)))
    done = completed(await take(store))
    needs_both = task("c", needs=("a", "b"), version=1)
    await store.write(done._replace(tasks=[*done.tasks, needs_both]))
    assert await claim(store) == ["b"]
    assert await store.counts() == {"completed": 1, "running": 1, "blocked": 1}


async def test_saving_a_completed_task_again_unblocks_nothing_twice(store: Store) -> None:
    await add(store, task("a", priority=5), task("b"), task("c", needs=("a", "b")))
    done = completed(await take(store))
    await store.write(done)
    (after,) = done.tasks
    await store.write(Write(tasks=[after.evolve(note="landed", version=after.version + 1)]))
    assert await ids(store, TaskQuery(ready=True)) == ["b"]


async def test_a_completed_task_stays_completed_because_others_count_on_it(store: Store) -> None:
    await add(store, task("a"), task("b", needs=("a",)))
    done = completed(await take(store))
    await store.write(done)
    (after,) = done.tasks
    with pytest.raises(Refused):
        await add(store, after.evolve(state=State.PENDING, version=after.version + 1))
    assert await ids(store, TaskQuery(ready=True)) == ["b"]


async def test_unmet_tells_what_each_task_still_waits_for(store: Store) -> None:
    await add(store, task("a"), task("b"), task("c", needs=("a", "b")), task("d", needs=("c",)))
    await store.write(completed(await take(store)))
    unmet = await store.unmet([TaskId("a"), TaskId("c"), TaskId("d")])
    assert {name: [need.id for need in needs] for name, needs in unmet.items()} == {
        "a": [],
        "c": ["b"],
        "d": ["c"],
    }
    assert unmet[TaskId("d")][0].needs == ("a", "b")


async def test_needed_by_tells_who_waits_directly(store: Store) -> None:
    await add(store, task("a"), task("b", needs=("a",)), task("c", needs=("b",)))
    assert await store.needed_by(TaskId("a")) == ["b"]


async def test_up_to_three_ids_match_a_prefix(store: Store) -> None:
    await add(store, *(task(name) for name in ("ab1", "ab2", "ab3", "ab4", "b_%")))
    assert await store.matching("ab") == ["ab1", "ab2", "ab3"]
    assert await store.matching("ab2") == ["ab2"]
    assert await store.matching("b_%") == ["b_%"]
    assert await store.matching("%") == []


async def test_counts_tell_blocked_from_pending(store: Store) -> None:
    assert await store.counts() == {}
    await add(store, task("a"), task("b"), task("c", needs=("a",)))
    await claim(store)
    assert await store.counts() == {"running": 1, "pending": 1, "blocked": 1}


async def test_a_cancelled_task_counts_as_cancelled_whatever_it_needed(store: Store) -> None:
    await add(store, task("a"), task("b", needs=("a",)))
    await add(store, *[move(await get(store, name), Verb.CANCEL) for name in "ab"])
    assert await store.counts() == {"cancelled": 2}


async def test_tasks_are_read_most_urgent_first_or_newest_first(store: Store) -> None:
    await add(store, task("old", priority=2), task("mid", priority=2), task("new", priority=4))
    assert await ids(store, TaskQuery()) == ["new", "old", "mid"]
    assert await ids(store, TaskQuery(newest_first=True, limit=2)) == ["new", "mid"]
    assert await ids(store, TaskQuery(limit=0)) == []


@pytest.mark.parametrize("newest_first", [False, True])
async def test_a_list_can_be_read_in_pages_while_tasks_come_and_go(
    store: Store, newest_first: bool
) -> None:
    tasks = [task(f"t{number}", priority=1 + number % 3) for number in range(9)]
    await add(store, *tasks)
    query = TaskQuery(newest_first=newest_first, limit=4)
    whole = await ids(store, query._replace(limit=None))
    first = await ids(store, query)
    await add(store, move(await get(store, first[0]), Verb.CANCEL))
    await add(store, task("urgent", priority=5))
    second = await ids(store, query._replace(after=TaskId(first[-1])))
    third = await ids(store, query._replace(after=TaskId(second[-1]), limit=None))
    assert [*first, *second, *third] == whole
    assert await ids(store, query._replace(after=TaskId("nobody"))) == []


async def test_tasks_are_read_by_every_field_of_a_query(store: Store) -> None:
    await add(
        store,
        task("a", labels=("ui", "fast"), title="Ärger im KELLER"),
        task("b", repo="mail", prompt="100% of the keller"),
        task("c", priority=5),
    )
    await claim(store)
    assert await ids(store, TaskQuery(ids=[TaskId("b"), TaskId("x")])) == ["b"]
    assert await ids(store, TaskQuery(ids=[])) == []
    assert await ids(store, TaskQuery(states=[State.RUNNING, State.REVIEW])) == ["c"]
    assert await ids(store, TaskQuery(repo="mail")) == ["b"]
    assert await ids(store, TaskQuery(label="fast")) == ["a"]
    assert await ids(store, TaskQuery(text="Keller")) == ["a", "b"]
    assert await ids(store, TaskQuery(text="ärger")) == ["a"]
    assert await ids(store, TaskQuery(text="100%")) == ["b"]
    assert await ids(store, TaskQuery(text="Keller", repo="mail", states=[State.RUNNING])) == []


async def test_ready_leaves_out_what_rests_is_paused_or_blocked(
    store: Store, clock: StillClock
) -> None:
    await add(
        store,
        task("ready"),
        task("paused", paused=True),
        task("blocked", needs=("ready",)),
        task("resting", not_before=START + timedelta(seconds=5)),
    )
    assert await ids(store, TaskQuery(ready=True)) == ["ready"]
    clock.advance(seconds=5)
    assert await ids(store, TaskQuery(ready=True)) == ["ready", "resting"]


async def test_a_moment_of_another_zone_is_the_same_moment(store: Store, clock: StillClock) -> None:
    later = (START + timedelta(seconds=5)).astimezone(timezone(timedelta(hours=-7)))
    await add(store, task("far", not_before=later))
    assert await claim(store) == []
    clock.advance(seconds=5)
    assert await claim(store) == ["far"]


async def test_every_store_keeps_and_exports_the_same_stand_in_for_nul(
    store: Store,
) -> None:
    await add(store, task("a", labels=("a\0b",), assignee="x\0", repo="r\0", prompt="\0 \\u0000"))
    await store.write(Write(settings={"n\0": "v\0"}))
    assert await ids(store, TaskQuery(repo="r\0")) == ["a"]
    assert await ids(store, TaskQuery(ids=[TaskId("b\0")], label="x\0")) == []
    assert await store.matching("a\0") == []
    (found,) = await store.tasks(TaskQuery())
    assert found.prompt == "\ufffd \\u0000"
    assert (found.repo, found.labels) == ("r\ufffd", ("a\ufffdb",))
    assert await ids(store, TaskQuery(repo=found.repo)) == ["a"]
    assert await store.settings() == {"n\ufffd": "v\ufffd"}
    exported = "".join([body async for _, body in store.export()])
    assert "u0000" not in exported.replace("\\\\u0000", "")
    await store.write(Write(settings={"n\0": None}))
    assert await store.settings() == {}


async def test_tasks_are_found_by_those_whose_agents_created_them(store: Store) -> None:
    root, other = task("root"), task("other")
    children = [task("first", parent=root.id, priority=1), task("second", parent=root.id)]
    below = task("below", parent=children[0].id)
    await add(store, root, other, *children, below)
    assert await ids(store, TaskQuery(parents=[root.id])) == ["second", "first"]
    assert await ids(store, TaskQuery(parents=[root.id, children[0].id], newest_first=True)) == [
        *("below", "second", "first")
    ]
    assert await ids(store, TaskQuery(parents=[other.id])) == []
    assert await ids(store, TaskQuery(parents=[])) == []
    await store.write(Write(tasks=[below.evolve(priority=5, version=1)]))
    assert await ids(store, TaskQuery(parents=[children[0].id], limit=1)) == ["below"]
