"""Accounts of coders: their names, their rests, and how they are described."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain import accounts
from codefleet.domain.model import Rest
from codefleet.domain.words import Reason
from tests.domain.samples import NOON

LATER = NOON + timedelta(hours=2)


def a_rest(**fields: Any) -> Rest:
    plain = {"account": "claude", "reason": Reason.QUOTA, "note": "", "since": NOON, "until": LATER}
    return Rest(**{**plain, **fields})


@pytest.mark.parametrize(
    ("coder", "options", "account"),
    [
        ("claude", {}, "claude"),
        ("claude", {"claude": {"program": "claude-2"}}, "claude"),
        ("claude", {"claude": {"account": "~/.work"}}, "claude@~/.work"),
        ("codex", {"claude": {"account": "~/.work"}}, "codex"),
    ],
)
def test_an_account_is_the_coders_own_unless_the_settings_name_one(
    coder: str, options: accounts.Options, account: str
) -> None:
    assert accounts.account_of(coder, options) == account
    assert accounts.coder_of(account) == coder


@given(st.text(), st.timedeltas(timedelta(seconds=1), timedelta(days=30)))
def test_an_account_wakes_a_little_after_its_reset_and_never_before(
    who: str, wait: timedelta
) -> None:
    late = accounts.wakes_at(NOON + wait, NOON, NOON, who) - (NOON + wait)
    assert timedelta(0) <= late <= min(wait * 0.05, timedelta(seconds=30))
    assert accounts.wakes_at(NOON + wait, NOON, NOON, who) - (NOON + wait) == late


def test_different_runs_wake_at_different_moments() -> None:
    moments = {accounts.wakes_at(LATER, NOON, NOON, f"t{n}.1") for n in range(50)}
    assert len(moments) == 50


FIVE, HOUR = timedelta(minutes=5), timedelta(hours=1)


@pytest.mark.parametrize(
    ("known", "ago", "length"),
    [
        (None, timedelta(0), FIVE),
        ({"guessed": True}, timedelta(minutes=1), 2 * FIVE),  # refused again, right afterwards
        ({"guessed": True}, timedelta(minutes=6), FIVE),  # it worked for a while
        ({"guessed": True}, -timedelta(minutes=1), FIVE),  # another run, in the same rest
        ({"guessed": False}, timedelta(minutes=1), FIVE),  # the provider had named that time
    ],
)
def test_a_rest_of_unknown_length_grows_while_the_refusals_go_on(
    known: dict[str, bool] | None, ago: timedelta, length: timedelta
) -> None:
    last = a_rest(until=NOON + FIVE, **known) if known else None
    assert accounts.guess(last, NOON + FIVE + ago, FIVE, HOUR) == length


def test_a_rest_of_unknown_length_has_a_bound() -> None:
    last = a_rest(until=NOON + 0.9 * HOUR, guessed=True)
    assert accounts.guess(last, NOON + HOUR, FIVE, HOUR) == HOUR


def test_a_reset_that_is_over_is_not_believed() -> None:
    wakes = accounts.wakes_at(NOON - timedelta(hours=1), NOON - FIVE, NOON, "t1.1")
    assert wakes >= NOON + timedelta(minutes=1)


def test_a_reset_that_passed_while_the_run_ended_is_not_waited_for() -> None:
    assert accounts.wakes_at(NOON - FIVE, NOON - HOUR, NOON, "t1.1") == NOON


def test_a_reset_at_the_end_of_all_days_is_cut_short() -> None:
    never = datetime.max.replace(tzinfo=UTC)
    assert NOON < accounts.wakes_at(never, NOON, NOON, "t1.1") < NOON + timedelta(days=33)


@pytest.mark.parametrize(
    ("known", "new", "counts"),
    [
        (None, LATER, True),
        (NOON - timedelta(hours=1), LATER, True),
        (LATER, LATER - timedelta(hours=1), False),
        (LATER, LATER + timedelta(hours=1), True),
    ],
)
def test_the_longer_of_two_rests_counts(
    known: datetime | None, new: datetime, counts: bool
) -> None:
    before = known and a_rest(until=known, version=3)
    after = accounts.longer(before or None, a_rest(until=new), NOON)
    assert (after is not None) == counts
    if after and before:
        assert (after.until, after.version) == (new, 4)


def test_only_a_human_ends_a_rest_without_end() -> None:
    logged_out = a_rest(reason=Reason.AUTH, until=None)
    assert accounts.longer(logged_out, a_rest(), NOON) is None
    assert accounts.longer(a_rest(), logged_out, NOON) == logged_out.evolve(version=1)
    assert accounts.holding([logged_out], NOON + timedelta(days=999)) == {"claude": logged_out}


def test_a_rest_that_is_over_holds_nobody() -> None:
    assert accounts.holding([a_rest()], LATER) == {}


def test_a_rest_says_until_when_and_why() -> None:
    said = accounts.sentence(a_rest(), NOON)
    assert said == "claude rests until 14:00:00 UTC (its limit is reached)"


def test_an_account_that_is_logged_out_says_what_to_do() -> None:
    said = accounts.sentence(a_rest(reason=Reason.AUTH, until=None), NOON)
    assert said == "claude is logged out: log in, then `fleet coders wake claude`"
