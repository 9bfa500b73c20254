"""What tokens cost: whose price applies, and what happens without one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain import prices
from codefleet.domain.model import Usage
from codefleet.domain.model_names import find
from codefleet.domain.prices import Price, Source

CHEAP = Price(input=1, output=2, cached=0.1)
DEAR = Price(input=10, output=20)
USED = Usage(input_tokens=1000, output_tokens=100, cached_tokens=500)
AMOUNTS = st.integers(min_value=0, max_value=10**9)
USAGES = st.builds(Usage, input_tokens=AMOUNTS, output_tokens=AMOUNTS, cached_tokens=AMOUNTS)
PRICES = st.builds(
    Price,
    input=st.floats(0, 100),
    output=st.floats(0, 100),
    cached=st.none() | st.floats(0, 100),
)


def test_each_kind_of_token_has_its_price() -> None:
    assert CHEAP.of(USED) == pytest.approx((1000 * 1 + 100 * 2 + 500 * 0.1) / 1e6)


def test_sums_of_money_carry_no_dust_of_binary_fractions() -> None:
    tenth, third = Usage(cost_usd=0.1), Usage(cost_usd=0.3)
    assert (tenth + tenth + tenth).cost_usd == 0.3
    assert (third + tenth - tenth).cost_usd == 0.3
    assert Price(input=0.1, output=0.2).of(Usage(input_tokens=10**6, output_tokens=10**6)) == 0.3


def test_without_a_price_for_cached_input_it_costs_what_input_costs() -> None:
    assert DEAR.of(USED) == pytest.approx((1500 * 10 + 100 * 20) / 1e6)


@given(PRICES, USAGES, USAGES)
def test_two_lines_cost_what_one_line_of_both_costs(price: Price, one: Usage, two: Usage) -> None:
    both = price.of(one) + price.of(two)
    assert price.of(one + two) == pytest.approx(both, abs=2e-9)  # each is rounded to a billionth


@pytest.mark.parametrize(
    "model",
    [
        *("opus-5", "OPUS-5", "opus-5-20260724", "opus-5@20260724", "opus-5-2026-07-24"),
        *("opus-5[1m]", "opus-5-latest", "anthropic/opus-5", "router/anthropic/opus-5-20260724"),
    ],
)
def test_a_date_a_context_size_or_a_provider_does_not_change_the_price(model: str) -> None:
    assert find(model, [{"opus-5": CHEAP}]) is CHEAP


@pytest.mark.parametrize("model", ["opus-5-5", "opus-50", "opus", "big-opus-5", "", None])
def test_a_model_of_another_name_has_no_price(model: str | None) -> None:
    assert find(model, [{"opus-5": CHEAP}]) is None


def test_the_name_that_says_most_wins() -> None:
    table = {"gpt-*": CHEAP, "gpt-5*": DEAR, "gpt-5-mini": CHEAP}
    assert find("gpt-4", [table]) is CHEAP
    assert find("gpt-5-max", [table]) is DEAR
    assert find("gpt-5-mini", [table]) is CHEAP


def test_prices_of_ones_own_win_however_little_they_say() -> None:
    assert find("gpt-5-mini", [{"*": DEAR}, {"gpt-5-mini": CHEAP}]) is DEAR


def test_only_the_star_is_special_in_a_name() -> None:
    assert find("a[b", [{"a[b": CHEAP}]) is CHEAP
    assert find("ab", [{"a?": CHEAP}]) is None


def test_money_that_was_told_is_not_priced_again() -> None:
    told = USED.evolve(cost_usd=0.5)
    assert prices.bill(told, "m", [{"m": DEAR}]) == (told, Source.REPORTED)


def test_tokens_alone_are_priced() -> None:
    bill = prices.bill(USED, "m", [{"m": CHEAP}])
    assert (bill.usage.cost_usd, bill.source) == (CHEAP.of(USED), Source.PRICED)


def test_a_model_without_a_price_is_unpriced_and_its_tokens_count() -> None:
    assert prices.bill(USED, "m", []) == (USED, Source.UNPRICED)


def test_a_program_that_tells_money_and_told_none_asks_for_none() -> None:
    assert prices.bill(USED, "m", [], reports_cost=True) == (USED, Source.REPORTED)


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_a_guess_is_a_token_for_four_characters(prompt: int, output: int) -> None:
    bill = prices.estimate(prompt, output, "m", [{"m": CHEAP}])
    assert bill.source is Source.ESTIMATED
    assert (bill.usage.input_tokens, bill.usage.output_tokens) == (prompt // 4, output // 4)
    assert bill.usage.cost_usd == CHEAP.of(bill.usage)


def test_a_guess_without_a_price_has_no_money() -> None:
    assert prices.estimate(400, 40, "m", []).source is Source.UNPRICED
