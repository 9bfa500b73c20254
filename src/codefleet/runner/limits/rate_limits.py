"""Rate limits as a runner heeds them: what it may not claim, and when to look again."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from codefleet.coders.registry import coder as coder_named
from codefleet.config import Config
from codefleet.domain import accounts
from codefleet.domain.errors import FleetError, Stale
from codefleet.domain.model import Repo, Rest, Run, TaskId
from codefleet.domain.routing import coder_for
from codefleet.domain.words import Reason
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import TaskQuery
from codefleet.runner.context import Context
from codefleet.runner.programs import login

MOST_AT_ONCE = 500

Pairs = tuple[tuple[str, str], ...]


async def pairs_to_skip(context: Context, default: str, rests: Sequence[Rest]) -> Pairs:
    """What a claim must skip, as (repo, coder); the coder is empty for tasks that name none."""
    if not rests:
        return ()
    found: list[tuple[str, str]] = []
    for repo in await context.fleet.repos():
        if settings := _settings(context, repo):
            found += [(repo.name, coder) for coder in _coders(settings, default, rests)]
    return tuple(found)


async def fail_over(context: Context, default: str, rests: Sequence[Rest]) -> None:
    """Hand ready tasks whose account is resting to their fallback, unless that is resting too."""
    resting = {rest.account for rest in rests}
    if not resting:
        return
    repos = {repo.name: _settings(context, repo) for repo in await context.fleet.repos()}
    for task in await context.fleet.list(TaskQuery(ready=True, limit=MOST_AT_ONCE)):
        settings = repos.get(task.repo)
        before = task.rerouted_from
        if settings and before and before.coder not in _coders(settings, default, rests):
            with suppress(Stale):
                await context.dispatch.go_back(task)
            continue
        to = settings and accounts.fallback_of(task, settings.fallback)
        if not settings or not to:
            continue
        coder = coder_for(task, settings.route, default)
        own, other = (accounts.account_of(each, settings.coders) for each in (coder, to))
        if own in resting and other not in resting and coder != to:
            await context.dispatch.fail_over(task, coder, to)


async def next_end(fleet: Fleet) -> datetime | None:
    """When the next rest ends by itself."""
    return min((rest.until for rest in await fleet.rests() if rest.until), default=None)


async def has_waiting_task(
    context: Context, default: str, among: Sequence[TaskId] | None = None
) -> bool:
    """Does a ready task (of all, or `among` these) wait for a rest that ends by itself?"""
    passing = [rest for rest in await context.fleet.rests() if rest.until]
    pairs = await pairs_to_skip(context, default, passing)
    if not pairs:
        return False
    ready = await context.fleet.list(TaskQuery(ready=True, ids=among))
    return any((task.repo, task.coder or "") in pairs for task in ready)


class Refusal(NamedTuple):
    """A provider's refusal that concerns an account and not only a task."""

    reason: Reason
    note: str
    until: datetime | None


async def rest_after(refused: Refusal, run: Run, settings: Config, fleet: Fleet) -> Rest:
    """The rest of a run's account: until its reset or, if logged out, until a human acts."""
    now = await fleet.now()
    account = accounts.account_of(run.coder, settings.coders)
    until = refused.until
    guessed = until is None and refused.reason is Reason.QUOTA
    if guessed:
        bounds = (settings.quota_rest_s, settings.longest_quota_rest_s)
        known = await Dispatch(fleet).last_rest(account)
        until = now + accounts.guess(known, now, *(timedelta(seconds=each) for each in bounds))
    return Rest(
        account=account,
        reason=refused.reason,
        note=refused.note,
        since=now,
        until=until and accounts.wakes_at(until, run.started_at, now, run.id),
        guessed=guessed,
        remedy=_remedy(refused, run, settings),
    )


def _remedy(refused: Refusal, run: Run, settings: Config) -> str:
    if refused.reason is not Reason.AUTH:
        return ""
    return login.remedy(coder_named(run.coder), settings, refused.note)


def _coders(settings: Config, default: str, rests: Sequence[Rest]) -> list[str]:
    """The coders that rest in a repo with these settings.

    Where rules choose the coder, a task that names none is claimed, and given back at once if its
    coder is resting.
    """
    resting = {rest.account for rest in rests}
    coders = [
        coder
        for coder in map(accounts.coder_of, sorted(resting))
        if accounts.account_of(coder, settings.coders) in resting
    ]
    routed = any(route.coder for route in settings.route)
    return [*coders, *([""] if default in coders and not routed else [])]


def _settings(context: Context, repo: Repo) -> Config | None:
    try:
        return context.settings(repo)
    except FleetError:  # nothing in that repo can run anyway
        return None
