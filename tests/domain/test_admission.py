"""How many more agents a machine can take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain.admission import (
    RECENT_RUNS,
    STARTS_PER_CORE,
    Admitted,
    Machine,
    Newcomer,
    Working,
    admit,
    usual_need,
)

LARGE = Machine(free_mb=100_000, cores=64)


def claudes(count: int, needs_mb: int = 450) -> list[Newcomer]:
    return [Newcomer("claude", needs_mb)] * count


def test_where_there_is_room_all_may_start() -> None:
    assert admit(claudes(8), [], LARGE, 512) == Admitted(8)


def test_as_many_start_as_leave_the_reserve_free() -> None:
    assert admit(claudes(8), [], Machine(512 + 3 * 450, 64), 512).seats == 3


def test_the_next_one_says_what_it_waits_for() -> None:
    busy = [Working(took_mb=450, needs_mb=450)]
    admitted = admit(claudes(1), busy, Machine(912, 2), 512)
    assert admitted == Admitted(0, "waits for memory: 400 MB free, claude needs 450 MB")


def test_agents_at_work_are_given_what_they_will_grow_to() -> None:
    young, grown = Working(took_mb=50, needs_mb=450), Working(took_mb=900, needs_mb=450)
    machine = Machine(512 + 450, 64)
    assert admit(claudes(1), [young], machine, 512).seats == 0
    assert admit(claudes(1), [grown], machine, 512).seats == 1


def test_a_small_agent_does_not_overtake_a_large_one() -> None:
    queue = [*claudes(1, 10), *claudes(1, 10_000), *claudes(1, 10)]
    assert admit(queue, [Working(1, 1)], Machine(2000, 64), 512).seats == 1


def test_only_so_many_start_up_at_once() -> None:
    starting = [Working(0, 0, starts=True)] * (2 * STARTS_PER_CORE - 1)
    admitted = admit(claudes(5), starting, Machine(100_000, 2), 512)
    assert admitted == Admitted(1, "waits for agents that are starting up")
    spoken = [Working(0, 0)] * 50
    assert admit(claudes(5), spoken, Machine(100_000, 2), 512).seats == 5


@given(st.integers(0, 10**6), st.integers(0, 10**9), st.integers(1, 10**6))
def test_where_nothing_works_one_is_always_let_in(free: int, reserve: int, needs: int) -> None:
    assert admit(claudes(2, needs), [], Machine(free, 1), reserve).seats >= 1


@pytest.mark.parametrize(
    ("peaks", "need"),
    [
        ([], 300),
        ([500], 500),
        ([100, 100], 300),
        ([100, 100, 100], 100),
        ([100, 0, 0, 0], 300),
        ([200] * 9 + [9000], 200),
        ([200] * 5 + [9000] * 5, 9000),
        ([200] * RECENT_RUNS + [9000] * 100, 200),
    ],
)
def test_a_need_is_learned_from_the_usual_peak_of_recent_runs(peaks: list[int], need: int) -> None:
    assert usual_need(peaks, 300) == need
