"""Input from outside: a noun, or one sentence that says what is wrong and where."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codefleet.domain.errors import Invalid
from codefleet.domain.model import Budget, Draft, Result
from codefleet.domain.noun import Noun
from codefleet.domain.prices import Price
from codefleet.domain.validation import DEEPEST, checked, refuse_deep
from codefleet.domain.workflow.plan import Plan

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"title": 3}, "title: should be a string of 1 to 200 characters, not 3"),
    ({"priority": 9}, "priority: should be a whole number from 1 to 5, not 9"),
    ({"priority": "high"}, 'priority: should be a whole number from 1 to 5, not "high"'),
    ({"priority": True}, "priority: should be a whole number from 1 to 5, not true"),
    ({"max_attempts": 0}, "max_attempts: should be a whole number from 1, not 0"),
    ({"timeout_s": -1}, "timeout_s: should be a number above 0, not -1"),
    ({"timeout_s": float("nan")}, "timeout_s: should be a number above 0, not nan"),
    ({"labels": "x"}, 'labels: should be a list, not "x"'),
    ({"labels": ["x", 3]}, "labels.1: should be a string, not 3"),
    ({"lands": "soon"}, 'lands: should be queue or review or branch, not "soon"'),
    ({"not_before": "noon"}, "not_before: should be a time with a time zone"),
    ({"not_before": "2030-01-31T09:00:00"}, "not_before: should be a time with a time zone"),
    ({"options": []}, "options: should be a table, not a list of 0"),
    ({"options": {3: 4}}, "options: its keys should be strings"),
    ({"budget": 5}, "budget: should be a table, not 5"),
    ({"budget": {"usd": 0}}, "budget.usd: should be a number above 0, not 0"),
    ({"budget": Budget(usd=-1)}, "budget.usd: should be a number above 0, not -1"),
    ({"budget": {"eur": 1}}, "budget.eur: there is no such field"),
    ({"prompt": "x" * 1_000_001}, "not one of 1,000,001 characters"),
    ({"colour": "red"}, "unknown field `colour`"),
    ({"metadata": {"x": "y" * 20_000}}, "metadata has 20008 characters; at most 16000 are allowed"),
    ({"metadata": {"x": object()}}, "it must be plain JSON"),
    ({"prompt": "half \ud800"}, "it contains bytes that are not text"),
    ({"stage": {"workflow": "w", "number": 1}}, "stage.name: it is missing"),
    ({"timeout_s": 1e12}, "a number above 0 to 1,000,000,000, not 1000000000000"),
    ({"timeout_s": 10**400}, "not a number that large"),
    ({"budget": {"tokens": 2**63}}, "a whole number from 1 to 9,007,199,254,740,991, not"),
    ({"not_before": "0001-01-01T00:00:00+14:00"}, "is outside of the calendar"),
    ({"title": b"Mend"}, "title: should be a string of 1 to 200 characters, not bytes"),
    ({"metadata": {"x": [1, float("nan")]}}, "metadata.x.1: should be a number, not nan"),
    ({"metadata": {"x": float("inf")}}, "metadata.x: should be a number, not inf"),
    ({"metadata": {"x": b"y"}}, "metadata.x: should be a string, not bytes"),
    ({"options": {"x": {3: 4}}}, "options.x: its keys should be strings"),
    ({"x` - at `$.a.b.c`": 1}, "unknown field `x` - at `$.a.b.c``"),
    ({"budget": {"x` - at `$.a.b.c": 1}}, "there is no such field"),
]


@pytest.mark.parametrize(("said", "told"), WRONG, ids=[told[:40] for _, told in WRONG])
def test_a_mistake_is_told_with_its_place_what_belongs_there_and_what_is_there(
    said: dict[str, Any], told: str
) -> None:
    with pytest.raises(Invalid) as refused:
        checked(Draft, {"title": "Mend it", **said})
    assert told in refused.value.problem
    assert refused.value.hint


def test_the_hint_tells_the_form_of_a_field_that_one_cannot_guess() -> None:
    with pytest.raises(Invalid) as refused:
        checked(Draft, {"title": "Mend it", "budget": 5})
    assert "{usd: 1}" in refused.value.hint


def test_a_wrong_entry_of_a_list_of_tables_is_told_by_its_number() -> None:
    stages = [{"name": "a"}, {"name": "b", "args": [1]}]
    with pytest.raises(Invalid, match=r"stages\.1\.args\.0: should be a string, not 1"):
        checked(Plan, {"stages": stages})


def test_a_list_that_must_not_be_empty_says_so() -> None:
    with pytest.raises(Invalid, match="stages: should be a list of 1 to 1,000 entries, not"):
        checked(Plan, {"stages": []})


@pytest.mark.parametrize("deep", [DEEPEST + 1, 500, 900, 50_000])
def test_what_is_nested_too_deeply_is_refused_however_deep_it_is(deep: int) -> None:
    with pytest.raises(Invalid, match=f"nested more than {DEEPEST} levels deep"):
        refuse_deep(nested(deep))
    with pytest.raises(Invalid):
        checked(Result, {"output": nested(deep)})
    refuse_deep(nested(DEEPEST))


def nested(deep: int) -> Any:
    """So many lists inside each other."""
    made: list[Any] = []
    for _ in range(deep - 1):
        made = [made]
    return made


def test_whole_numbers_are_good_numbers() -> None:
    assert checked(Price, {"input": 1, "output": 2}).of is not None


def test_a_moment_is_kept_in_one_zone() -> None:
    draft = checked(Draft, {"title": "Mend", "not_before": "2030-01-31T09:00:00+02:00"})
    assert draft.not_before == datetime(2030, 1, 31, 7, tzinfo=UTC)
    assert draft.json().count("2030-01-31T07:00:00Z") == 1


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


names = st.sampled_from([*Draft.__struct_fields__, "x` - at `$.a.b.c", "`key` in `$.a`"])
PLAIN: dict[type[Noun], dict[str, Any]] = {Draft: {"title": "Mend"}, Result: {}, Plan: {}}


@given(st.dictionaries(names | st.text(), anything, max_size=3))
@example({"metadata": {"x": float("nan")}})
def test_whatever_is_said_makes_a_noun_or_a_sentence(said: dict[str, Any]) -> None:
    for kind, plain in PLAIN.items():
        try:
            noun = checked(kind, plain | said)
        except Invalid:
            continue
        assert kind.from_json(noun.json()) == noun
