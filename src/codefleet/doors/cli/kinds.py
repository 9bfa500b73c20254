"""Types of option values; when click refuses one, it names the option."""

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from codefleet.domain.errors import Invalid
from codefleet.domain.moment import span as domain_span
from codefleet.domain.noun import LARGEST
from codefleet.domain.words import Complexity

MOST_SEATS = 256
SIZES = tuple(size.value for size in Complexity)


def amount(text: str) -> float:
    """A finite number greater than zero."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise click.BadParameter(f"{text!r} is not a number greater than 0.")
    return found


def whole_number(text: str) -> int:
    """A whole number greater than zero."""
    try:
        found = int(text)
    except ValueError:
        found = 0
    if found < 1:
        raise click.BadParameter(f"{text!r} is not a whole number greater than 0.")
    return found


def countable(text: str) -> int:
    """A whole number from zero, capped at the largest that a store can count."""
    try:
        found = int(text)
    except ValueError:
        found = -1
    if found < 0:
        raise click.BadParameter(f"{text[:80]!r} is not a whole number, 0 or more.")
    return min(found, LARGEST)


def how_many(text: str) -> int:
    """The same from one."""
    return min(whole_number(text), LARGEST)


def seats(text: str) -> tuple[int | None, int]:
    """How many agents: a number, or a minimum and a maximum such as 0..8."""
    least, between, most = text.rpartition("..")
    try:
        found = (int(least) if between else None, int(most))
    except ValueError:
        found = (None, 0)
    if not max(1, found[0] or 0) <= found[1] <= MOST_SEATS or (found[0] or 0) < 0:
        raise click.BadParameter(f"{text!r} is not 1 to {MOST_SEATS}, or a range such as 0..8.")
    return found


def size(text: str) -> str:
    """The estimated complexity of a task."""
    if text not in SIZES:
        raise click.BadParameter(f"{text!r} is not one of {', '.join(SIZES)}.")
    return text


def span(text: str) -> timedelta:
    """A duration such as 30m, 24h or 7d."""
    try:
        return domain_span(text)
    except Invalid as wrong:
        raise click.BadParameter(f"{wrong.problem}; {wrong.hint}.") from None


def or_nothing(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """A value of this type, or an empty string to clear it."""
    return lambda text: kind(text) if text else text
