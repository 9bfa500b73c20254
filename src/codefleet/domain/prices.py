"""What tokens cost if a program reports no money: a price per model, found by its name."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from codefleet.domain.model import Usage, dollars
from codefleet.domain.model_names import find
from codefleet.domain.noun import Amount, Noun

MILLION = 1_000_000
CHARACTERS_PER_TOKEN = 4


class Source(StrEnum):
    """Where a line of the bill comes from."""

    REPORTED = "reported"
    PRICED = "priced"
    ESTIMATED = "estimated"
    UNPRICED = "unpriced"


class Price(Noun):
    """US dollars per million tokens; without `cached`, cached input costs what input costs."""

    input: Amount
    output: Amount
    cached: Amount | None = None

    def of(self, usage: Usage) -> float:
        cached = self.input if self.cached is None else self.cached
        return dollars(
            (
                usage.input_tokens * self.input
                + usage.output_tokens * self.output
                + usage.cached_tokens * cached
            )
            / MILLION
        )


Prices = Mapping[str, Price]
"""Prices by the names of models; a `*` in a name stands for anything."""


class Bill(NamedTuple):
    """The added usage with its cost, and where the cost comes from."""

    usage: Usage
    source: Source


def bill(
    usage: Usage, model: str | None, tables: Sequence[Prices], *, reports_cost: bool = False
) -> Bill:
    """Price what a program reported; one that `reports_cost` and reported none charges none."""
    price = None if usage.cost_usd else find(model, tables)
    if price:
        return Bill(usage.evolve(cost_usd=price.of(usage)), Source.PRICED)
    told = usage.cost_usd or reports_cost
    return Bill(usage, Source.REPORTED if told else Source.UNPRICED)


def estimate(prompt: int, output: int, model: str | None, tables: Sequence[Prices]) -> Bill:
    """An estimate from the characters in and out, for a program that reports no usage."""
    guess = Usage(
        input_tokens=prompt // CHARACTERS_PER_TOKEN, output_tokens=output // CHARACTERS_PER_TOKEN
    )
    price = find(model, tables)
    if price is None:
        return Bill(guess, Source.UNPRICED)
    return Bill(guess.evolve(cost_usd=price.of(guess)), Source.ESTIMATED)
