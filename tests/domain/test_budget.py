"""Limits: what is close, what is exceeded, and which of several applies."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain import budget
from codefleet.domain.budget import Standing
from codefleet.domain.model import Budget, Usage
from codefleet.domain.views import Limit


def limit(name: str = "the task", *, daily: bool = False, **amounts: float) -> Limit:
    """A limit of `usd` or `tokens`, with `cost` or `used` spent of it."""
    tokens = int(amounts["tokens"]) if "tokens" in amounts else None
    allowed = Budget(usd=amounts.get("usd"), tokens=tokens)
    spent = Usage(cost_usd=amounts.get("cost", 0.0), input_tokens=int(amounts.get("used", 0)))
    return Limit(name=name, daily=daily, budget=allowed, spent=spent)


LIMITS = st.builds(
    lambda usd, cost, daily: limit(usd=usd, cost=cost, daily=daily),
    st.floats(0.01, 1000),
    st.floats(0, 2000),
    st.booleans(),
)


@pytest.mark.parametrize(
    ("spent", "standing"),
    [(0, "ok"), (7.99, "ok"), (8.0, "near"), (9.99, "near"), (10.0, "over"), (50, "over")],
)
def test_it_is_near_from_four_fifths_and_over_when_all_is_spent(
    spent: float, standing: str
) -> None:
    assert budget.judge([limit(usd=10, cost=spent)]).standing == standing
    assert budget.judge([limit(tokens=1000, used=spent * 100)]).standing == standing


def test_without_a_limit_nothing_is_ever_over() -> None:
    assert budget.judge([]).standing is Standing.OK
    assert budget.judge([limit(cost=1e9, used=10**9)]).standing is Standing.OK


def test_of_money_and_tokens_the_tighter_one_counts() -> None:
    judged = budget.judge([limit(usd=10, cost=1, tokens=100, used=95)])
    assert judged.text == "the task has cost 95 tokens, 95 % of 100 tokens allowed"


@given(st.lists(LIMITS, min_size=1, max_size=5))
def test_several_limits_stand_as_the_worst_of_them(limits: list[Limit]) -> None:
    worst = list(Standing)
    alone = [budget.judge([each]).standing for each in limits]
    assert budget.judge(limits).standing == max(alone, key=worst.index)


@given(st.lists(LIMITS, min_size=1, max_size=5))
def test_nobody_waits_for_tomorrow_when_tomorrow_brings_nothing(limits: list[Limit]) -> None:
    over = [each for each in limits if budget.judge([each]).standing is Standing.OVER]
    waits = bool(over) and all(each.daily for each in over)
    assert budget.judge(limits).until_tomorrow == waits


def test_a_day_that_is_spent_says_when_it_goes_on() -> None:
    judged = budget.judge([limit("shop", usd=20, cost=21, daily=True)])
    assert judged.text == "shop has spent today's 20.00 USD; resumes at 00:00 UTC"


def test_the_day_begins_at_midnight_utc_wherever_one_is() -> None:
    late = datetime(2026, 3, 1, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert budget.day_of(late) == datetime(2026, 3, 2, tzinfo=UTC)
