"""Needs as a graph."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain.errors import Cycle
from codefleet.domain.graph import critical_path, held_up_by, holding_up, levels, order

HOUSE = {
    "roof": ["walls"],
    "walls": ["floor"],
    "paint": ["walls", "tools"],
    "floor": [],
    "tools": [],
}


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    """Needs without a cycle, in any order: each task needs only lower-numbered ones."""
    numbers = draw(st.permutations(range(draw(st.integers(0, 12)))))
    return {
        str(n): [str(m) for m in draw(st.sets(st.integers(0, n - 1)))] if n else [] for n in numbers
    }


def needs_somehow(task: str, other: str, needs: dict[str, list[str]]) -> bool:
    return any(need == other or needs_somehow(need, other, needs) for need in needs[task])


@given(graphs())
def test_every_task_comes_after_all_it_needs(needs: dict[str, list[str]]) -> None:
    place = {name: at for at, name in enumerate(order(needs))}
    assert set(place) == set(needs)
    assert all(place[need] < place[name] for name, its in needs.items() for need in its)


@given(graphs(), st.data())
def test_a_failure_holds_up_exactly_what_needs_it_directly_or_not(
    needs: dict[str, list[str]], data: st.DataObject
) -> None:
    failed = data.draw(st.sampled_from(sorted(needs) or ["0"]))
    held = held_up_by(failed, needs)
    assert len(held) == len(set(held))
    assert set(held) == {name for name in needs if needs_somehow(name, failed, needs)}


@given(graphs())
def test_every_task_knows_how_many_it_holds_up(needs: dict[str, list[str]]) -> None:
    counts = {name: len(held_up_by(name, needs)) for name in needs}
    assert holding_up(needs) == {name: many for name, many in counts.items() if many}


@given(graphs(), st.data())
def test_one_need_against_the_order_makes_a_cycle_that_is_named(
    needs: dict[str, list[str]], data: st.DataObject
) -> None:
    pairs = [(name, need) for name in needs for need in needs if needs_somehow(name, need, needs)]
    name, need = data.draw(st.sampled_from(pairs or [("0", "0")]))
    looped = {**needs, need: [*needs.get(need, []), name]}
    with pytest.raises(Cycle) as refused:
        order(looped)
    loop = refused.value.problem.partition(": ")[2].split(" -> ")
    assert loop[0] == loop[-1]
    assert all(after in looped[before] for before, after in pairwise(loop))


def test_a_cycle_is_told_in_the_order_of_the_needs_with_a_way_out() -> None:
    with pytest.raises(Cycle) as refused:
        order({"a": ["b"], "b": ["c"], "c": ["a"]})
    told, _, loop = refused.value.problem.partition(": ")
    assert told == "these tasks would wait for one another"
    assert loop in ("a -> b -> c -> a", "b -> c -> a -> b", "c -> a -> b -> c")
    assert refused.value.hint == "drop one of these needs"


def test_a_task_that_needs_itself_is_a_cycle() -> None:
    with pytest.raises(Cycle, match="a -> a"):
        order({"a": ["a"]})


def test_a_chain_of_ten_thousand_is_put_in_order() -> None:
    chain = {str(n): [str(n - 1)] for n in range(1, 10_000)}
    assert order(chain) == [str(n) for n in range(10_000)]


def test_a_level_counts_the_steps_of_waiting() -> None:
    assert levels(HOUSE) == {"floor": 0, "tools": 0, "walls": 1, "roof": 2, "paint": 2}


def test_the_critical_path_is_the_longest_chain() -> None:
    assert critical_path(HOUSE)[:2] == ["floor", "walls"]
    assert critical_path({"paint": ["walls", "tools"], "walls": ["floor"]}) == [
        *("floor", "walls", "paint"),
    ]


def test_without_tasks_there_is_no_order_and_no_path() -> None:
    assert order({}) == []
    assert levels({}) == {}
    assert critical_path({}) == []


def test_a_need_that_is_not_a_task_itself_still_has_its_place() -> None:
    assert order({"b": ["a"]}) == ["a", "b"]
    assert levels({"b": ["a"]}) == {"a": 0, "b": 1}


def test_what_is_held_up_is_told_nearest_first() -> None:
    assert held_up_by("floor", HOUSE) == ["walls", "roof", "paint"]


def test_what_nobody_needs_holds_up_nothing() -> None:
    assert held_up_by("roof", HOUSE) == []
