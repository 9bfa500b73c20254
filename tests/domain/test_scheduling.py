"""What starts now, in which order, and why the rest waits."""

from collections.abc import Iterator
from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain import scope
from codefleet.domain.model import RunnerId, Task, TaskId
from codefleet.domain.scheduling import Hold, Why, decide, hold
from codefleet.domain.views import Agent
from codefleet.domain.words import Reason, State
from tests.domain.samples import NOON, a_task

LATER = NOON + timedelta(minutes=5)


def chosen(candidates: list[Task], busy: list[Task] | None = None, seats: int = 9) -> list[str]:
    return [task.id for task in decide(candidates, busy or [], seats=seats, now=NOON)]


def ids(*names: str) -> tuple[TaskId, ...]:
    return tuple(map(TaskId, names))


def test_tasks_start_in_the_order_given_up_to_the_number_of_seats() -> None:
    assert chosen([a_task(id) for id in "abcd"], seats=3) == ["a", "b", "c"]


@pytest.mark.parametrize("seats", [0, -1])
def test_without_a_seat_nothing_starts(seats: int) -> None:
    assert chosen([a_task()], seats=seats) == []


def test_a_task_whose_scope_is_taken_is_passed_over() -> None:
    busy = [a_task("x", scope=["src/**"])]
    assert chosen([a_task("a", scope=["src/a.py"]), a_task("b", scope=["docs"])], busy) == ["b"]


def test_two_tasks_chosen_together_never_overlap() -> None:
    first, second = a_task("a", scope=["src/**"]), a_task("b", scope=["src/b.py"])
    assert chosen([first, second]) == ["a"]
    assert chosen([second, first]) == ["b"]


def test_a_passed_over_task_takes_no_seat_and_no_scope() -> None:
    busy = [a_task("x", scope=["a"])]
    candidates = [a_task("1", scope=["a", "b"]), a_task("2", scope=["b"]), a_task("3")]
    assert chosen(candidates, busy, seats=2) == ["2", "3"]


def test_the_same_scope_in_another_repo_is_no_collision() -> None:
    busy = [a_task("x", scope=["src"])]
    assert chosen([a_task(scope=["src"], repo="other")], busy) == ["t1"]


def test_tasks_without_a_scope_collide_with_nothing() -> None:
    assert chosen([a_task("a"), a_task("b"), a_task("c", scope=["**"])]) == ["a", "b", "c"]


@pytest.mark.parametrize("waits", [{"paused": True}, {"not_before": LATER}])
@pytest.mark.parametrize("files", [(), ("src/**",)])
def test_a_task_that_waits_for_itself_does_not_hold_back_another_with_its_scope(
    waits: dict[str, object], files: tuple[str, ...]
) -> None:
    candidates = [a_task("a", scope=files, **waits), a_task("b", scope=files)]
    assert chosen(candidates) == ["b"]


def test_an_abandoned_task_does_not_stand_in_its_own_way() -> None:
    abandoned = a_task("a", scope=["src"], state=State.RUNNING)
    assert chosen([a_task("b", scope=["src"]), abandoned], [abandoned]) == ["a"]


def test_a_task_may_start_at_its_time_and_not_before() -> None:
    on_time, early = a_task("a", not_before=NOON), a_task("b", not_before=LATER)
    assert chosen([on_time, early]) == ["a"]


def test_candidates_are_read_only_as_far_as_needed() -> None:
    read: list[str] = []

    def candidates() -> Iterator[Task]:
        for id in "abcdef":
            read.append(id)
            yield a_task(id)

    tasks = decide(candidates(), [], seats=2, now=NOON)
    assert [task.id for task in tasks] == ["a", "b"]
    assert len(read) <= 3


def test_what_is_busy_is_read_only_for_the_sake_of_a_scope() -> None:
    busy = iter([a_task("x", scope=["src"])])
    assert [task.id for task in decide([a_task("a")], busy, seats=1, now=NOON)] == ["a"]
    scoped = [a_task("b", scope=["src"]), a_task("c", scope=["src/a"]), a_task("d")]
    assert [task.id for task in decide(scoped, busy, seats=9, now=NOON)] == ["d"]
    assert next(busy, None) is None


scopes = st.sets(st.sampled_from(["a", "b", "a/x", "a/**", "*", "b/*"]), max_size=2).map(tuple)
some_tasks = st.lists(
    st.builds(
        a_task,
        scope=scopes,
        repo=st.sampled_from(["app", "web"]),
        paused=st.booleans(),
        not_before=st.sampled_from([None, NOON, LATER]),
    ),
    max_size=8,
).map(lambda tasks: [task.evolve(id=TaskId(str(n))) for n, task in enumerate(tasks)])


@given(some_tasks, some_tasks, st.integers(0, 5))
def test_a_decision_is_what_asking_one_task_after_another_gives(
    candidates: list[Task], busy: list[Task], seats: int
) -> None:
    busy = [task.evolve(id=f"busy{task.id}") for task in busy]
    running = list(busy)
    expected: list[str] = []
    for task in candidates:
        if len(expected) < seats and hold(task, now=NOON, busy=running) is None:
            expected.append(task.id)
            running.append(task)
    assert chosen(candidates, busy, seats) == expected


@given(some_tasks)
def test_whatever_is_chosen_is_free_of_collisions(candidates: list[Task]) -> None:
    started = list(decide(candidates, [], seats=9, now=NOON))
    for task in started:
        others = [other for other in started if other.id != task.id and other.repo == task.repo]
        assert not any(scope.overlap(task.scope, other.scope) for other in others)


def test_a_ready_task_is_held_by_nothing() -> None:
    assert hold(a_task(scope=["a"]), now=NOON, busy=[a_task("x", scope=["b"])]) is None


def test_a_paused_task_and_a_paused_fleet_say_who_is_paused() -> None:
    paused = hold(a_task(paused=True), now=NOON, busy=[])
    fleet = hold(a_task(), now=NOON, busy=[], fleet_paused=True)
    assert paused == Hold(why=Why.PAUSED, text="it is paused")
    assert fleet == Hold(why=Why.PAUSED, text="the whole fleet is paused")


def test_a_blocked_task_says_what_it_waits_for() -> None:
    unmet = [a_task("a"), a_task("b", state=State.RUNNING)]
    assert hold(a_task(), now=NOON, busy=[], unmet=unmet) == Hold(
        why=Why.NEEDS, text="waits for a, b", behind=ids("a", "b")
    )


def test_many_needs_are_told_in_one_line_and_kept_in_full() -> None:
    held = hold(a_task(), now=NOON, busy=[], unmet=[a_task(str(n)) for n in range(50)])
    assert held is not None
    assert held.text == "waits for 0, 1, 2 and 47 more"
    assert len(held.behind) == 50


def test_a_task_whose_need_broke_is_held_up_by_it_and_not_by_those_still_under_way() -> None:
    unmet = [
        a_task("a", state=State.RUNNING),
        a_task("b", state=State.FAILED),
        a_task("c", state=State.CANCELLED),
    ]
    assert hold(a_task(), now=NOON, busy=[], unmet=unmet) == Hold(
        why=Why.HELD_UP, text="held up by b (failed), c (cancelled)", behind=ids("b", "c")
    )


def test_a_task_whose_account_rests_says_so_unless_something_else_holds_it_anyway() -> None:
    told = "claude rests until 14:05:00 UTC (its limit is reached)"
    assert hold(a_task(), now=NOON, busy=[], resting=told) == Hold(why=Why.ACCOUNT, text=told)
    paused = hold(a_task(paused=True), now=NOON, busy=[], resting=told)
    assert paused is not None
    assert paused.why is Why.PAUSED


def test_a_resting_task_says_until_when_and_why() -> None:
    resting = a_task(not_before=LATER, reason=Reason.RATE_LIMIT)
    held = hold(resting, now=NOON, busy=[])
    assert held == Hold(why=Why.TIME, text="not before 12:05:00 UTC (rate limited)")


def test_a_time_on_another_day_or_in_another_zone_cannot_be_misread() -> None:
    tomorrow = hold(a_task(not_before=NOON + timedelta(days=1)), now=NOON, busy=[])
    elsewhere = LATER.astimezone(timezone(timedelta(hours=5)))
    abroad = hold(a_task(not_before=elsewhere), now=NOON, busy=[])
    assert tomorrow == Hold(why=Why.TIME, text="not before 2026-03-02 12:00 UTC")
    assert abroad == Hold(why=Why.TIME, text="not before 12:05:00 UTC")


def test_a_collision_says_with_whom_and_where() -> None:
    task = a_task(scope=["src/a.py"])
    same = hold(task, now=NOON, busy=[a_task("x", scope=["src/a.py"])])
    wider = hold(task, now=NOON, busy=[a_task("x", scope=["src/**"])])
    assert same == Hold(
        why=Why.SCOPE, text="waits for x: src/a.py is in its scope too", behind=ids("x")
    )
    assert wider == Hold(
        why=Why.SCOPE, text="waits for x: src/a.py overlaps its scope src/**", behind=ids("x")
    )


def an_agent(name: str, state: str) -> Agent:
    return Agent(name=name, runner=RunnerId("r1"), host="here", state=state, seen_at=NOON)


def test_a_task_for_one_agent_waits_until_that_agent_is_idle() -> None:
    task = a_task(assignee="agent-7")
    busy, free = an_agent("agent-7", "working"), an_agent("agent-7", "idle")
    other = an_agent("agent-1", "idle")
    assert hold(task, now=NOON, busy=[], agents=[other, busy]) == Hold(
        why=Why.ASSIGNED, text="waits for agent-7"
    )
    assert hold(task, now=NOON, busy=[], agents=[other, free]) is None
    assert hold(a_task(), now=NOON, busy=[], agents=[]) is None


@pytest.mark.parametrize("agents", [[], [an_agent("agent-7", "offline")]])
def test_a_task_for_an_agent_that_is_not_there_says_so(agents: list[Agent]) -> None:
    held = hold(a_task(assignee="agent-7"), now=NOON, busy=[], agents=agents)
    assert held == Hold(why=Why.ASSIGNED, text="waits for agent-7, but no runner has that seat now")


def test_the_first_thing_a_human_can_do_is_told_first() -> None:
    busy = [a_task("x", scope=["a"])]
    task = a_task(scope=["a"], not_before=LATER, paused=True)
    told = [
        hold(task, now=NOON, busy=busy, unmet=[a_task("n")]),
        hold(task.evolve(paused=False), now=NOON, busy=busy, unmet=[a_task("n")]),
        hold(task.evolve(paused=False), now=NOON, busy=busy),
        hold(task.evolve(paused=False, not_before=None), now=NOON, busy=busy),
    ]
    assert [held.why for held in told if held] == [Why.PAUSED, Why.NEEDS, Why.TIME, Why.SCOPE]
