"""Nouns and texts without keys, as they are stored."""

from datetime import UTC, datetime

import pytest

from codefleet.domain.events import event
from codefleet.domain.model import Check, Evidence, Question, QuestionId, Rest, RunId, TaskId
from codefleet.domain.redaction import LONGEST_WORDS, Redaction
from codefleet.domain.words import Reason

KEY = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4hJ6"
STARS = "[redacted******************************]"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_every_text_in_a_value_is_redacted_and_the_rest_stays() -> None:
    check = Check(command="x", exit_code=1, seconds=0.1, tail=f"it is {KEY}")
    evidence = Evidence(base="a", tip="b", tree="c", checks=(check,))
    clean = Redaction().value({"found": [evidence, 7, None, Reason.AUTH, (KEY,)]})
    assert clean["found"][0].checks[0].tail == f"it is {STARS}"
    assert clean["found"][1:] == [7, None, Reason.AUTH, (STARS,)]
    assert clean["found"][3] is Reason.AUTH
    assert Redaction(["known-value"]).value("it is known-value") == "it is [redacted*]"


def test_a_noun_keeps_what_a_human_wrote_for_an_agent() -> None:
    asked = Question(
        id=QuestionId("q"),
        task=TaskId("t"),
        run=RunId("t.1"),
        text=KEY,
        options=(KEY,),
        tool=KEY,
        detail=KEY,
        answer=KEY,
        asked_at=NOW,
    )
    clean = Redaction().noun(asked)
    assert (clean.text, clean.options, clean.tool, clean.detail) == (STARS, (STARS,), STARS, STARS)
    assert clean.answer == KEY


def test_a_noun_without_a_key_is_the_same_noun() -> None:
    rest = Rest(account="claude", reason=Reason.AUTH, note="logged out", since=NOW)
    told = event("run.said", NOW, "all is well", more={"deep": ["words"]})
    assert Redaction().noun(rest) is rest
    assert Redaction().noun(told) is told


@pytest.mark.parametrize("known", [(), ("a value that is known",)])
def test_of_a_huge_text_the_two_ends_are_kept_and_no_half_of_a_key(known: tuple[str, ...]) -> None:
    key = known[0] if known else KEY
    kept = LONGEST_WORDS // 4
    for shift in range(-len(key) - 2, 3):
        start = "s" * (kept + shift - 1) + f" {key} "
        end = f" {key} " + "e" * (kept + shift - 1)
        clean = Redaction(known).value(start + "x " * LONGEST_WORDS + end)
        assert key[:6] not in clean
        assert key[-6:] not in clean
        assert clean[:4000] == "s" * 4000
        assert clean[-4000:] == "e" * 4000
        assert "characters left out" in clean
        assert len(clean) < LONGEST_WORDS


def test_a_text_that_is_not_huge_is_kept_whole() -> None:
    text = "x " * (LONGEST_WORDS // 2 - 50) + KEY
    assert Redaction().value(text) == text.replace(KEY, STARS)


@pytest.mark.parametrize("shift", range(-45, 5))
def test_no_half_of_a_key_is_left_where_a_text_is_cut(shift: int) -> None:
    around = "x " * 100
    first = Redaction().start(f"{around}{KEY} {around}", len(around) + len(KEY) + shift)
    last = Redaction().end(f"{around} {KEY}{around}", len(around) + len(KEY) + shift)
    assert len(first) == len(last) == len(around) + len(KEY) + shift
    assert not [part for part in (first, last) if KEY[:6] in part or KEY[-6:] in part]
