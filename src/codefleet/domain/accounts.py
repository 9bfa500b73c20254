"""Coder accounts: whose quota a run uses, and when an account rests for the whole fleet."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any
from zlib import crc32

from codefleet.domain.model import Preference, Rest, Task
from codefleet.domain.scheduling import clock
from codefleet.domain.words import Reason

Options = Mapping[str, Mapping[str, Any]]
"""The settings of each coder."""

JITTER_SHARE = 0.05
LONGEST_JITTER = timedelta(seconds=30)
DOUBT = timedelta(minutes=1)
LONGEST_REST = timedelta(days=32)
"""The longest limits are monthly: a later reset means that a clock is wrong."""


def account_of(coder: str, options: Options) -> str:
    """The account that a coder uses: its own name, or `coder@account`."""
    named = options.get(coder, {}).get("account")
    return f"{coder}@{named}" if named else coder


def coder_of(account: str) -> str:
    """The coder that an account belongs to."""
    return account.partition("@")[0]


def wakes_at(resets_at: datetime, begun: datetime, now: datetime, who: str) -> datetime:
    """A little after the reset, at a different moment per `who`, so that not all start at once.

    A run that began after the reset should not have been refused, so that reset is not credible.
    """
    if resets_at <= begun:
        resets_at = now + DOUBT
    resets_at = min(max(resets_at, now), now + LONGEST_REST)
    longest = min((resets_at - now) * JITTER_SHARE, LONGEST_JITTER)
    return resets_at + longest * (crc32(who.encode()) / 2**32)


def guess(known: Rest | None, now: datetime, first: timedelta, longest: timedelta) -> timedelta:
    """How long to rest after a usage limit without a reset time: twice the last rest, bounded.

    A refusal long after the last rest is unrelated to it and starts with the first length.
    """
    if known is None or not known.guessed or known.until is None:
        return min(first, longest)
    length = known.until - known.since
    if known.holds(now):  # another run of the account hit the same limit
        return min(length, longest)
    return min(2 * length if now - known.until < length else first, longest)


def longer(known: Rest | None, new: Rest, now: datetime) -> Rest | None:
    """The rest to store, or None if the known one lasts at least as long."""
    if known is None:
        return new
    if known.holds(now) and _outlasts(known, new):
        return None
    return new.evolve(version=known.version + 1)


def holding(rests: Iterable[Rest], now: datetime) -> dict[str, Rest]:
    """The accounts that rest now."""
    return {rest.account: rest for rest in rests if rest.holds(now)}


def fallback_of(task: Task, default: str | None) -> str | None:
    """The coder that may take over from the task's own; an empty text means it already did."""
    return (default if task.fallback is None else task.fallback) or None


def rerouted(task: Task, coder: str, to: str) -> Task:
    """The task as handed to its fallback; there is only one hop."""
    own = Preference(
        coder=coder,
        model=task.model,
        options=task.options,
        route=task.route,
        fallback=task.fallback,
    )
    return task.evolve(
        rerouted_from=own,
        coder=to,
        model=None,  # models and options belong to their coders
        options={},
        route=f"fallback from {coder}",
        fallback="",
        version=task.version + 1,
    )


def own_again(task: Task) -> Task:
    """The task with its original coder, if a fallback took over."""
    own = task.rerouted_from
    if own is None:
        return task
    return task.evolve(
        coder=own.coder,
        model=own.model,
        options=own.options,
        route=own.route,
        fallback=own.fallback,
        rerouted_from=None,
    )


def sentence(rest: Rest, now: datetime) -> str:
    """A rest, as shown to a human."""
    if rest.until is None:
        logged_out = f"is logged out: {rest.remedy or 'log in'}"
        why = logged_out if rest.reason is Reason.AUTH else f"rests ({rest.reason.words})"
        return f"{rest.account} {why}, then `fleet coders wake {rest.account}`"
    return f"{rest.account} rests until {clock(rest.until, now)} (its limit is reached)"


def _outlasts(known: Rest, new: Rest) -> bool:
    return known.until is None or (new.until is not None and new.until <= known.until)
