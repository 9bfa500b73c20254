"""Costs: the bill by any criterion, and the limits on what a day may cost."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from codefleet.domain import budget
from codefleet.domain.budget import Judgement, Standing
from codefleet.domain.errors import Invalid
from codefleet.domain.events import event
from codefleet.domain.model import Budget, Event, Run, Usage
from codefleet.domain.prices import Source
from codefleet.domain.views import Limit, Spent
from codefleet.fleet.core import Core
from codefleet.ports import Write

BY = ("day", "coder", "model", "repo", "task")
LATEST = 1000
NOTHING = Budget()


class Costs(Core):
    async def cost(
        self, *, by: Sequence[str], since: datetime, until: datetime | None = None
    ) -> Sequence[Spent]:
        """What was spent: a row for each value of what is in `by`, and each source of the price."""
        if unknown := [name for name in by if name not in BY]:
            raise Invalid(f"cannot group costs by {unknown[0]}", hint=f"use {', '.join(BY)}")
        return await self.store.spent(since=since, until=until, by=[*by, "source"])

    async def spent_today(self) -> Usage:
        """Tokens and money since midnight UTC."""
        rows = await self.store.spent(since=budget.day_of(await self.store.now()))
        return rows[0].usage if rows else Usage()

    async def unpriced_today(self, by: str = "model") -> Mapping[str, int]:
        """Today's tokens without a price, by model or by something else."""
        since = budget.day_of(await self.store.now())
        rows = await self.store.spent(since=since, by=[by, "source"])
        found = [row for row in rows if row.source == Source.UNPRICED and row.usage.tokens]
        return {getattr(row, by): row.usage.tokens for row in found}

    async def day_limits(self) -> Sequence[Limit]:
        """Every limit on today's cost, and what is spent of it: the fleet's, then the repos'."""
        of_the_fleet = Budget(usd=self.config.day_budget_usd, tokens=self.config.day_budget_tokens)
        of_repos = map(self._repo_budget, ("", *self.config.repos))
        if all(each == NOTHING for each in (of_the_fleet, *of_repos)):
            return ()
        repos = {repo.name: self._repo_budget(repo.name) for repo in await self.store.repos()}
        rows = await self.store.spent(since=budget.day_of(await self.store.now()), by=["repo"])
        spent = {row.repo: row.usage for row in rows}
        unpriced = await self.unpriced_today("repo")
        whole = sum(spent.values(), start=Usage())
        limits = [_of_the_day("the fleet", of_the_fleet, whole, sum(unpriced.values()))]
        for name, each in repos.items():
            limit = _of_the_day(name, each, spent.get(name, Usage()), unpriced.get(name, 0))
            limits.append(limit.evolve(repo=name))
        return [limit for limit in limits if limit.budget != NOTHING]

    async def spent_up(self) -> Mapping[str, str]:
        """The repos in which nothing more may start today, each with the reason."""
        limits = await self.day_limits()
        if not limits:
            return {}
        repos = [repo.name for repo in await self.store.repos()]
        judged = {
            repo: budget.judge(each for each in limits if each.repo in (None, repo))
            for repo in repos
        }
        return {repo: it.text for repo, it in judged.items() if it.standing is Standing.OVER}

    async def warn_of_the_day(self) -> None:
        """Warn once a day of each limit that is spent or nearly spent, or misses some usage."""
        limits = await self.day_limits()
        now = await self.store.now()
        judged = [budget.judge([limit]) for limit in limits]
        news = [warning(each, now) for each in judged if each.standing is not Standing.OK]
        if self.config.run_budget_usd or any(limit.budget.usd for limit in limits):
            news += [_unseen(*each, now) for each in (await self.unpriced_today()).items()]
        if not news:
            return
        told = await self.store.events(kinds=["budget.warned"], limit=LATEST, newest=True)
        today = [old.data for old in told if old.at >= budget.day_of(now)]
        if fresh := [each for each in news if each.data not in today]:
            await self.store.write(Write(events=fresh))

    def _repo_budget(self, repo: str) -> Budget:
        """What this repo may cost in a day."""
        config = self.config.for_repo(repo)
        return Budget(usd=config.repo_day_budget_usd, tokens=config.repo_day_budget_tokens)


def _of_the_day(name: str, allowed: Budget, spent: Usage, unpriced: int) -> Limit:
    return Limit(name=name, daily=True, budget=allowed, spent=spent, unpriced_tokens=unpriced)


def _unseen(model: str, tokens: int, now: datetime) -> Event:
    """The warning about tokens that no limit in money covers."""
    text = f"a limit in USD does not cover {tokens:,} tokens of {model or 'an unnamed model'}: "
    hint = f"give it a price, `fleet config set prices.{model} ...`"
    hint = hint if model else "name the model of your agents, or set a limit in tokens"
    return event("budget.warned", now, text + hint, limit="unpriced", model=model)


def warning(judged: Judgement, now: datetime, run: Run | None = None) -> Event:
    """The warning; its data identify the limit, and tell a raised one apart."""
    assert judged.limit
    allowed = judged.limit.budget.plain()
    return event("budget.warned", now, judged.text, run=run, limit=judged.limit.name, **allowed)
