"""The nouns: frozen, strict, and unchanged by a round trip through JSON."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain import model, views, words
from codefleet.domain.errors import Invalid
from codefleet.domain.model import Brief, Draft, Usage
from codefleet.domain.noun import LARGEST, Natural, Noun, instant
from codefleet.domain.validation import checked
from codefleet.domain.words import State
from tests.domain.samples import a_run, a_task


def nouns(of: type[Noun] = Noun) -> Iterator[type[Noun]]:
    for noun in of.__subclasses__():
        yield noun
        yield from nouns(noun)


NOUNS = sorted(
    {noun for noun in nouns() if noun in [*vars(model).values(), *vars(views).values()]},
    key=lambda noun: noun.__name__,
)
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis takes naive bounds and adds the zone
LETTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
"""All but NUL, which has a substitute in JSON."""
TEXTS = st.text(LETTERS)
finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.none() | st.floats(min_value=0.001, max_value=1e9)
plain_json = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
NAMES = st.from_regex(r"[A-Za-z0-9_-]{1,50}", fullmatch=True)
BOUNDED: dict[type[Noun], dict[str, st.SearchStrategy[Any]]] = {
    Brief: {
        "title": st.text(LETTERS, min_size=1, max_size=200).filter(
            lambda text: a_title(text) is not None
        ),
        "priority": st.integers(1, 5),
        "max_attempts": st.none() | st.integers(1, LARGEST),
        "timeout_s": positive,
        "handle": st.none() | NAMES,
        "options": st.dictionaries(TEXTS, plain_json, max_size=3),
        "metadata": st.dictionaries(TEXTS, plain_json, max_size=3),
    },
    model.Team: {"name": NAMES},
    model.Member: {"team": NAMES, "handle": NAMES},
    model.Token: {"team": NAMES, "handle": NAMES},
    model.Invite: {"team": NAMES},
    model.Alert: {"team": st.none() | NAMES},
    model.Budget: {"usd": positive, "tokens": st.none() | st.integers(1, LARGEST)},
    model.Preference: {"options": st.dictionaries(TEXTS, plain_json, max_size=3)},
    model.Swarm: {
        "name": st.text(LETTERS, min_size=1, max_size=100),
        "max_agents": st.integers(1, 100),
    },
    model.Post: {
        "sender": NAMES,
        "target": st.none() | NAMES,
        "payload": st.dictionaries(TEXTS, plain_json, max_size=3),
    },
    model.Message: {
        "sender": st.none() | NAMES,
        "to": st.none() | NAMES,
        "subject": st.text(LETTERS, max_size=200),
        "context": st.none() | st.dictionaries(TEXTS, plain_json, max_size=3),
    },
    model.Checkpoint: {
        "author": NAMES,
        "to": st.none() | NAMES,
        "goal": st.text(LETTERS, min_size=1),
        "now": st.text(LETTERS, min_size=1),
        "outcome": TEXTS,
    },
    model.FileClaim: {"handle": NAMES},
    model.Memory: {
        "handle": NAMES,
        "key": st.text(LETTERS, min_size=1, max_size=200),
        "value": st.text(LETTERS, min_size=1),
        "tags": st.lists(st.text(LETTERS, max_size=100), max_size=3).map(tuple),
    },
    model.Usage: {"cost_usd": finite},
    model.Check: {"seconds": finite},
    model.Run: {"context": finite},
    model.Worked: {"uptime": st.floats(0, 1e9), "seconds": st.floats(0, 1e9)},
    model.Runner: {"pid_started": finite, "load": finite},
    views.Agent: {"load": finite},
    model.Event: {"data": st.dictionaries(TEXTS, plain_json, max_size=3)},
}
"""Fields whose values are bounded; all others take whatever their type allows."""


def a_title(text: str) -> str | None:
    try:
        return checked(Draft, {"title": text}).title
    except Invalid:
        return None


def examples(noun: type[Noun]) -> st.SearchStrategy[Noun]:
    own = BOUNDED[Brief] if issubclass(noun, Brief) else BOUNDED.get(noun, {})
    extras = get_type_hints(noun, include_extras=True).items()
    bounded = own | {name: st.integers(0, LARGEST) for name, kind in extras if kind == Natural}
    kinds = get_type_hints(noun).items()
    free = {name: values(kind) for name, kind in kinds if name not in bounded}
    return st.builds(noun, **free, **bounded)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Whatever the type allows, but at most one noun where there may be many, which is enough."""
    inner = get_args(kind)[0] if get_origin(kind) is tuple else None
    if isinstance(inner, type) and issubclass(inner, Noun):
        return st.lists(examples(inner), max_size=1).map(tuple)
    anything: st.SearchStrategy[Any] = st.from_type(kind)
    return anything


st.register_type_strategy(datetime, MOMENTS)
st.register_type_strategy(str, TEXTS)
for each in NOUNS:
    st.register_type_strategy(each, lambda noun: examples(noun))


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.__name__)
@given(data=st.data())
def test_a_noun_is_the_same_after_a_trip_through_json(
    noun: type[Noun], data: st.DataObject
) -> None:
    before = data.draw(examples(noun))
    after = noun.from_json(before.json())
    assert after == before
    assert after.json() == before.json()


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.__name__)
def test_a_noun_is_frozen_and_refuses_fields_it_does_not_know(noun: type[Noun]) -> None:
    assert noun.__struct_config__.frozen
    assert noun.__struct_config__.forbid_unknown_fields


def test_a_field_cannot_be_set_afterwards() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        a_task().state = State.COMPLETED  # type: ignore[misc]  # the point of the test


def test_a_misspelt_field_is_an_error_and_not_a_silence() -> None:
    with pytest.raises(TypeError, match="priorty"):
        Draft(title="Mend", priorty=5)  # type: ignore[call-arg]  # the point of the test
    with pytest.raises(Invalid, match="priorty"):
        checked(Draft, {"title": "Mend", "priorty": 5})


def test_evolving_gives_a_changed_copy() -> None:
    task = a_task()
    assert (task.evolve(note="new").note, task.note) == ("new", "")


HOSTILE_TITLES = {
    "--yolo": "--yolo",
    "$(touch x)": "$(touch x)",
    "`rm -rf /`; '\"": "`rm -rf /`; '\"",
    "two\nlines\r\nand\ttabs": "two lines and tabs",
    "\x1b[31mred\x1b[0m": "[31mred [0m",
    "\x1b]0;title\x07bell": "]0;title bell",
    "nul\0l": "nul l",
    "right\u202eleft": "right left",
    "line\u2028separator": "line separator",
    "  spaces   around  ": "spaces around",
    "ship it 🚀": "ship it 🚀",
    "Ünïcödé 日本語": "Ünïcödé 日本語",
    "../../etc/passwd": "../../etc/passwd",
}


@pytest.mark.parametrize(("typed", "kept"), HOSTILE_TITLES.items())
def test_a_hostile_title_becomes_one_harmless_line(typed: str, kept: str) -> None:
    draft = checked(Draft, {"title": typed})
    assert draft.title == kept
    assert Draft.from_json(draft.json()) == draft


INVISIBLE = ("", " ", "\n\t", "\x1b\x07", "\u200b", "\ud800")


@pytest.mark.parametrize("title", [*INVISIBLE, "x" * 201, "x" * 1_000_000])
def test_a_title_of_nothing_visible_or_of_a_whole_book_is_refused(title: str) -> None:
    with pytest.raises(Invalid):
        checked(Draft, {"title": title})


@given(st.text(max_size=200))
def test_a_kept_title_is_printable_and_cleaning_it_again_changes_nothing(text: str) -> None:
    title = a_title(text)
    if title is not None:
        assert title.isprintable()
        assert a_title(title) == title


@pytest.mark.parametrize(
    "wrong",
    [
        {"priority": 0},
        {"priority": 6},
        {"max_attempts": 0},
        {"timeout_s": 0},
        {"prompt": "x" * 1_000_001},
        {"budget": {"usd": -1}},
        {"budget": {"usd": 1, "eur": 1}},
        {"not_before": datetime(2026, 1, 1)},  # noqa: DTZ001 - a time without a zone is the case
    ],
    ids=str,
)
def test_values_out_of_bounds_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        checked(Draft, {"title": "Mend", **wrong})


def test_metadata_that_no_store_could_keep_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="plain JSON"):
        Draft(title="Mend", metadata={"it": object()})


def test_names_are_kept_sorted_and_once() -> None:
    assert checked(Draft, {"title": "Mend", "labels": ["b", "a", "b"]}).labels == ("a", "b")


def test_usage_adds_up() -> None:
    one = Usage(input_tokens=1, output_tokens=2, cached_tokens=3, cost_usd=0.5)
    assert one + one == Usage(input_tokens=2, output_tokens=4, cached_tokens=6, cost_usd=1.0)
    assert (one + one).tokens == 6


def test_a_run_is_live_until_it_has_an_outcome() -> None:
    run = a_run(a_task())
    assert run.is_live
    assert not run.evolve(outcome=words.Outcome.RELEASED).is_live


zoned = st.builds(
    lambda moment, hours: moment.astimezone(timezone(timedelta(hours=hours))),
    MOMENTS,
    st.integers(-12, 14),
)


def test_an_instant_is_written_in_utc_with_its_microseconds_even_when_there_are_none() -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=2)))
    assert instant(noon) == "2026-01-02T10:00:00.000000+00:00"
    assert instant(noon.replace(microsecond=10)) == "2026-01-02T10:00:00.000010+00:00"


@given(zoned, zoned)
def test_the_order_of_instants_is_the_order_of_their_texts(one: datetime, other: datetime) -> None:
    assert (one < other) == (instant(one) < instant(other))
    assert len(instant(one)) == len(instant(other))


@pytest.mark.parametrize("cost", [float("nan"), float("inf")])
def test_a_budget_that_is_no_number_is_refused(cost: float) -> None:
    with pytest.raises(Invalid, match=r"budget\.usd"):
        checked(Draft, {"title": "Mend", "budget": {"usd": cost}})
