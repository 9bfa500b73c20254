"""Limits on tokens and money: how much is spent, and what follows."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from codefleet.domain.views import Limit

WARN_AT = 0.8


class Standing(StrEnum):
    """The state of a limit: far off, nearly spent, or spent."""

    OK = "ok"
    NEAR = "near"
    OVER = "over"


class Judgement(NamedTuple):
    """The state of the tightest limit, and a sentence about it."""

    standing: Standing
    limit: Limit | None = None
    text: str = ""

    @property
    def until_tomorrow(self) -> bool:
        """Is it spent, with more available tomorrow?"""
        return self.standing is Standing.OVER and self.limit is not None and self.limit.daily


class _Share(NamedTuple):
    part: float
    spent: str
    allowed: str


def judge(limits: Iterable[Limit]) -> Judgement:
    """Judge by the limit closest to being spent; if several are spent, by one that stays so."""
    spent = [(share, limit) for limit in limits if (share := _share(limit))]
    if not spent:
        return Judgement(Standing.OK)
    share, limit = max(spent, key=lambda each: (min(each[0].part, 1), not each[1].daily, each[0]))
    if share.part >= 1:
        return Judgement(Standing.OVER, limit, _over(limit, share))
    if share.part >= WARN_AT:
        return Judgement(Standing.NEAR, limit, told(limit))
    return Judgement(Standing.OK, limit)


def told(limit: Limit) -> str:
    """How much of a limit is spent, as a sentence."""
    share = _share(limit)
    if share is None:
        return ""
    today = " today" if limit.daily else ""
    percent = f"{share.part * 100:.0f} %"
    return f"{limit.name} has cost {share.spent}{today}, {percent} of {share.allowed} allowed"


def day_of(now: datetime) -> datetime:
    """The start of the fleet's day: midnight UTC, because its machines may be anywhere."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _over(limit: Limit, share: _Share) -> str:
    if limit.daily:
        return f"{limit.name} has spent today's {share.allowed}; resumes at 00:00 UTC"
    return f"{limit.name} cost {share.spent} of {share.allowed} allowed"


def _share(limit: Limit) -> _Share | None:
    return max(_shares(limit), default=None)


def _shares(limit: Limit) -> Iterator[_Share]:
    allowed, spent = limit.budget, limit.spent
    if allowed.usd is not None:
        part = spent.cost_usd / allowed.usd
        unknown = " + ?" if limit.unpriced_tokens else ""
        yield _Share(part, f"{spent.cost_usd:.2f} USD{unknown}", f"{allowed.usd:.2f} USD")
    if allowed.tokens is not None:
        part = spent.tokens / allowed.tokens
        yield _Share(part, f"{spent.tokens:,} tokens", f"{allowed.tokens:,} tokens")
