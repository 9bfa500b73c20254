"""Costs: the bill by anything one likes, and the limits on what a day may cost."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from codefleet.domain import budget
from codefleet.domain.budget import Judgement, Standing
from codefleet.domain.errors import Invalid
from codefleet.domain.events import event
from codefleet.domain.model import Budget, Event, Limit, Run, Spent, Usage
from codefleet.fleet.core import Core
from codefleet.ports import Write

BY = ("day", "coder", "model", "repo", "task")
LATEST = 1000
NOTHING = Budget()


class Costs(Core):
    async def cost(
        self, *, by: Sequence[str], since: datetime, until: datetime | None = None
    ) -> Sequence[Spent]:
        """The bill of a time: a row for each value of what it is by, and each source of money."""
        if unknown := [name for name in by if name not in BY]:
            raise Invalid(f"a bill is not by {unknown[0]}", hint=f"it can be by {', '.join(BY)}")
        return await self.store.spent(since=since, until=until, by=[*by, "source"])

    async def spent_today(self) -> Usage:
        """Tokens and money since midnight UTC."""
        rows = await self.store.spent(since=budget.day_of(await self.store.now()))
        return rows[0].usage if rows else Usage()

    async def day_limits(self) -> Sequence[Limit]:
        """Every limit on today's cost, and what is spent of it: the fleet's first, then repos'."""
        of_the_fleet = Budget(usd=self.config.day_budget_usd, tokens=self.config.day_budget_tokens)
        of_repos = map(self._repo_budget, ("", *self.config.repos))
        if all(each == NOTHING for each in (of_the_fleet, *of_repos)):
            return ()
        repos = {repo.name: self._repo_budget(repo.name) for repo in await self.store.repos()}
        rows = await self.store.spent(since=budget.day_of(await self.store.now()), by=["repo"])
        spent = {row.repo: row.usage for row in rows}
        everything = sum(spent.values(), start=Usage())
        limits = [Limit(name="the fleet", daily=True, budget=of_the_fleet, spent=everything)]
        limits += [
            Limit(name=name, repo=name, daily=True, budget=each, spent=spent.get(name, Usage()))
            for name, each in repos.items()
        ]
        return [limit for limit in limits if limit.budget != NOTHING]

    async def spent_up(self) -> Mapping[str, str]:
        """The repos in which nothing more may start today, each with the sentence that says why."""
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
        """Tell once a day of each limit that is nearly spent."""
        judged = [budget.judge([limit]) for limit in await self.day_limits()]
        near = [each for each in judged if each.standing is Standing.NEAR]
        if not near:
            return
        now = await self.store.now()
        told = await self.store.events(kinds=["budget.warned"], limit=LATEST, newest=True)
        today = [old.data for old in told if old.at >= budget.day_of(now)]
        news = [warning(each, now) for each in near]
        if fresh := [each for each in news if each.data not in today]:
            await self.store.write(Write(events=fresh))

    def _repo_budget(self, repo: str) -> Budget:
        """What this repo may cost in a day."""
        config = self.config.for_repo(repo)
        return Budget(usd=config.repo_day_budget_usd, tokens=config.repo_day_budget_tokens)


def warning(judged: Judgement, now: datetime, run: Run | None = None) -> Event:
    """The event that warns; its data tell one limit from another, and from a raised one."""
    assert judged.limit
    allowed = judged.limit.budget.model_dump()
    return event("budget.warned", now, judged.text, run=run, limit=judged.limit.name, **allowed)
