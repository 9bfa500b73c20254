"""When a limit ends, according to the programs' messages."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.coder import Abilities
from codefleet.domain.signals import Broke, Limited
from codefleet.domain.words import Reason
from codefleet.runner.limits.reset_time import LONGEST, reset_time
from codefleet.runner.output.transcript import OutputState
from codefleet.runner.process.custody import Exit
from codefleet.runner.run.verdict import Released, judge_run, with_reset_time

SAID_AT = datetime(2026, 11, 17, 3, 0, tzinfo=UTC)  # noon in Tokyo


@pytest.fixture(autouse=True)
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.setenv("TZ", before) if before else monkeypatch.delenv("TZ")
    time.tzset()


@pytest.mark.parametrize(
    ("words", "reset"),
    [
        ("try again at 8:32 PM.", "2026-11-17T20:32+09:00"),
        ("try again at 12:05 AM.", "2026-11-18T00:05+09:00"),
        ("try again at 11:55 AM.", "2026-11-17T11:55+09:00"),  # a moment ago: it is over
        ("try again at 9:00 AM.", "2026-11-18T09:00+09:00"),
        ("Upgrade or try again at Nov 19th, 2026 12:05 AM.", "2026-11-19T00:05+09:00"),
        ("Try again in 3 days 4 hours.", "2026-11-20T16:00+09:00"),
        ("Try again in 3 days, 4 hours and 5 minutes.", "2026-11-20T16:05+09:00"),
        ("Please try again in 20s.", "2026-11-17T12:00:20+09:00"),
        ("Your quota will reset after 5h3m12s.", "2026-11-17T17:03:12+09:00"),
        ("You've hit your 5-hour limit · resets 7:28pm (UTC)", "2026-11-17T19:28+00:00"),
        ("You've hit your limit · resets 3am (Europe/Berlin)", "2026-11-18T03:00+01:00"),
        ("resets Nov 20, 3am (UTC)", "2026-11-20T03:00+00:00"),
        ("resets Jan 2, 3am (UTC)", "2027-01-02T03:00+00:00"),
        ("Resets at 2026-11-17T20:32:00Z", "2026-11-17T20:32+00:00"),
    ],
)
def test_the_words_of_programs_name_a_moment(words: str, reset: str) -> None:
    assert reset_time(words, SAID_AT) == datetime.fromisoformat(reset)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "try again later",
        "try again at Foo 77th, 2026 9:99 PM.",
        "try again at 13:00 PM.",
        "in a few days",
        "the limit of 5 hours is reached",
    ],
)
def test_other_words_name_none(words: str) -> None:
    assert reset_time(words, SAID_AT) is None


@given(st.text())
def test_no_words_make_it_fail_or_wait_for_years(words: str) -> None:
    for text in (words, f"try again in {words}", f"try again at {words}", f"at {words} PM"):
        found = reset_time(text, SAID_AT)
        assert found is None or found <= SAID_AT + LONGEST


def test_a_usage_limit_of_the_same_day_rests_the_account_until_then() -> None:
    words = "You've hit your usage limit. Upgrade to Pro or try again at 8:32 PM."
    until = datetime(2026, 11, 17, 11, 32, tzinfo=UTC)
    assert _ended(Limited(words, quota=True)) == Released(words, until, Reason.QUOTA)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (Limited("used up", quota=True), Reason.QUOTA),
        (Broke("used up", Reason.QUOTA), Reason.QUOTA),
        (Limited("slow down"), Reason.RATE_LIMIT),
    ],
)
def test_a_limit_without_a_time_is_of_the_kind_that_its_program_says(
    end: Limited | Broke, reason: Reason
) -> None:
    assert _ended(end) == Released(end.text, None, reason)


def test_a_rate_limit_that_names_its_end_is_waited_out_until_then() -> None:
    words = "Rate limit reached. Please try again in 20s."
    until = SAID_AT + timedelta(seconds=20)
    assert _ended(Limited(words)) == Released(words, until, Reason.RATE_LIMIT)


def _ended(end: Limited | Broke) -> object:
    heard = OutputState()
    heard.take(end)
    return with_reset_time(judge_run(heard, Exit(code=1), None, Abilities()), SAID_AT)
