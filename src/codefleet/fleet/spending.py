"""What a day may cost: the limits of the fleet and of each repo, and what is spent of them."""

from collections.abc import Mapping, Sequence

from codefleet.config import Config
from codefleet.domain import budget
from codefleet.domain.budget import Standing
from codefleet.domain.model import Budget, Repo, Usage
from codefleet.domain.prices import Source
from codefleet.domain.views import Limit
from codefleet.fleet.core import Core

NOTHING = Budget()


async def spent_today(core: Core) -> Usage:
    """Tokens and money since midnight UTC."""
    rows = await core.store.spent(since=budget.day_of(await core.store.now()))
    return rows[0].usage if rows else Usage()


async def unpriced_today(core: Core, by: str = "model") -> Mapping[str, int]:
    """Today's tokens without a price, by model or by something else."""
    since = budget.day_of(await core.store.now())
    rows = await core.store.spent(since=since, by=[by, "source"])
    found = [row for row in rows if row.source == Source.UNPRICED and row.usage.tokens]
    return {getattr(row, by): row.usage.tokens for row in found}


async def day_limits(core: Core) -> Sequence[Limit]:
    """Every limit on today's cost, and what is spent of it: the fleet's, then the repos'.

    All teams share them, so a single team is not told.
    """
    if await core.own_team() is not None:
        return ()
    config = core.config
    of_the_fleet = Budget(usd=config.day_budget_usd, tokens=config.day_budget_tokens)
    of_repos = [_repo_budget(config, name) for name in ("", *config.repos)]
    if all(each == NOTHING for each in (of_the_fleet, *of_repos)):
        return ()
    names = [repo.name for repo in await core.store.records(Repo)]
    rows = await core.store.spent(since=budget.day_of(await core.store.now()), by=["repo"])
    spent = {row.repo: row.usage for row in rows}
    unpriced = await unpriced_today(core, "repo")
    whole = sum(spent.values(), start=Usage())
    limits = [_of_the_day("the fleet", of_the_fleet, whole, sum(unpriced.values()))]
    for name in names:
        allowed, used = _repo_budget(config, name), spent.get(name, Usage())
        limits.append(_of_the_day(name, allowed, used, unpriced.get(name, 0)).evolve(repo=name))
    return [limit for limit in limits if limit.budget != NOTHING]


async def spent_up(core: Core) -> Mapping[str, str]:
    """The repos in which nothing more may start today, each with the reason."""
    limits = await day_limits(core)
    if not limits:
        return {}
    repos = [repo.name for repo in await core.store.records(Repo)]
    judged = {
        repo: budget.judge(each for each in limits if each.repo in (None, repo)) for repo in repos
    }
    return {repo: it.text for repo, it in judged.items() if it.standing is Standing.OVER}


def _repo_budget(settings: Config, repo: str) -> Budget:
    """What this repo may cost in a day."""
    config = settings.for_repo(repo)
    return Budget(usd=config.repo_day_budget_usd, tokens=config.repo_day_budget_tokens)


def _of_the_day(name: str, allowed: Budget, spent: Usage, unpriced: int) -> Limit:
    return Limit(name=name, daily=True, budget=allowed, spent=spent, unpriced_tokens=unpriced)
