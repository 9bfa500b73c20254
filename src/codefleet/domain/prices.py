"""What tokens cost when a program tells no money: a price per model, found by its name."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import NamedTuple

from codefleet.domain.model import Usage
from codefleet.domain.noun import Amount, Noun

MILLION = 1_000_000
CHARACTERS_PER_TOKEN = 4
VERSION = re.compile(r"(\[[^\]]*\]|[-@]\d{8}|-\d{4}-\d{2}-\d{2}|-latest)+$")
"""What providers hang on a model's name without changing its price: a date, a context size."""


class Source(StrEnum):
    """How a line of the bill came about."""

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
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cached_tokens * cached
        ) / MILLION


Prices = Mapping[str, Price]
"""Prices by the names of models; a `*` in a name stands for anything."""


class Bill(NamedTuple):
    """What came on top, with its money, and where the money is from."""

    usage: Usage
    source: Source


def find(model: str | None, tables: Sequence[Prices]) -> Price | None:
    """The price of a model: of the first table that has one, the name that says most."""
    plain = VERSION.sub("", (model or "").lower().rpartition("/")[2])
    for prices in tables:
        fitting = [name for name in prices if plain and fnmatchcase(plain, _pattern(name))]
        if fitting:
            return prices[max(fitting, key=lambda name: (len(name), name))]
    return None


def bill(
    usage: Usage, model: str | None, tables: Sequence[Prices], *, reports_cost: bool = False
) -> Bill:
    """Put a price on what a program told; one that `reports_cost` and told none asks for none."""
    price = None if usage.cost_usd else find(model, tables)
    if price:
        return Bill(usage.evolve(cost_usd=price.of(usage)), Source.PRICED)
    told = usage.cost_usd or reports_cost
    return Bill(usage, Source.REPORTED if told else Source.UNPRICED)


def estimate(prompt: int, output: int, model: str | None, tables: Sequence[Prices]) -> Bill:
    """A guess from the characters that went in and came out, for a program that tells nothing."""
    guess = Usage(
        input_tokens=prompt // CHARACTERS_PER_TOKEN, output_tokens=output // CHARACTERS_PER_TOKEN
    )
    price = find(model, tables)
    if price is None:
        return Bill(guess, Source.UNPRICED)
    return Bill(guess.evolve(cost_usd=price.of(guess)), Source.ESTIMATED)


def _pattern(name: str) -> str:
    """Only the star is special: names of models have brackets in them."""
    return re.sub(r"([\[?])", r"[\1]", name.lower())
