"""What one run may still cost, by its own limit, its task's, those above it, and the day's."""

from collections.abc import Sequence

from codefleet.config import Config
from codefleet.domain import budget
from codefleet.domain.budget import Standing
from codefleet.domain.model import Budget, Event, Task, Usage
from codefleet.domain.views import Limit
from codefleet.fleet.costs import LATEST, warning
from codefleet.fleet.dispatch import Dispatch
from codefleet.fleet.dispatch.budgets import Shared
from codefleet.runner.lease import Lease
from codefleet.runner.stop import Cause, Stop

OWN = ("the run", "the task")
"""The limits that only this task and what its agents create count against."""
NOTHING = Usage()


class Allowance:
    """The limits on one run. A warning is given once, whoever drives the run."""

    def __init__(self, lease: Lease, settings: Config, task: Task, earlier: Usage) -> None:
        self.lease, self.task, self.earlier = lease, task, earlier
        self._of_the_run = Budget(usd=settings.run_budget_usd, tokens=settings.run_budget_tokens)
        self._warned: set[str] = set()
        self._above: Sequence[Shared] | None = None

    async def look(self) -> Stop | None:
        """Why the run must stop, if it must; a limit that is nearly spent only causes a warning."""
        for_the_day = [
            limit
            for limit in await self.lease.dispatch.day_limits()
            if limit.repo in (None, self.task.repo)
        ]
        await self.warn()
        judged = budget.judge([*await self._whole(), *for_the_day])
        if judged.standing is Standing.OVER:
            return Stop(Cause.DAY if judged.until_tomorrow else Cause.BUDGET, judged.text)
        return None

    async def warn(self) -> None:
        """Warn once about each limit of this run, task and workflow that is nearly spent or spent.

        Usage may arrive in steps so big that a limit is never seen nearly spent.
        """
        now = await self.lease.fleet.now()
        for limit in await self._whole():
            judged = budget.judge([limit])
            if judged.standing is not Standing.OK and limit.name not in self._warned:
                self._warned.add(limit.name)
                news = warning(judged, now, self.lease.run)
                if not await self._was_told(news):
                    await self.lease.note([news])

    def overrun(self) -> str:
        """The message about a finished run that exceeded its limits; else empty."""
        judged = budget.judge(self._own())
        return judged.text if judged.standing is Standing.OVER else ""

    async def _whole(self) -> Sequence[Limit]:
        """Every limit but those of the day."""
        fleet = self.lease.fleet
        of_the_workflow = await Dispatch(fleet).workflow_limit(self.task)
        if self._above is None:
            self._above = await Dispatch(fleet).budgets_above(self.task)
        above = await Dispatch(fleet).limits_of(self._above)
        below = await Dispatch(fleet).spent_below(self.task) if self.task.budget else NOTHING
        return (*self._own(below), *([of_the_workflow] if of_the_workflow else ()), *above)

    def _own(self, below: Usage = NOTHING) -> Sequence[Limit]:
        used = self.lease.run.usage
        of_the_task = self.task.budget or Budget()
        return (
            Limit(name=OWN[0], budget=self._of_the_run, spent=used),
            Limit(name=OWN[1], budget=of_the_task, spent=self.earlier + used + below),
        )

    async def _was_told(self, news: Event) -> bool:
        """Did an earlier runner of this run warn already or, for a wider limit, another run?"""
        told = await self.lease.fleet.events(
            task=self.task.id if news.data["limit"] in OWN else None,
            kinds=[news.kind],
            limit=LATEST,
            newest=True,
        )
        of_the_run = news.data["limit"] == OWN[0]
        return any(
            old.data == news.data and (old.run == news.run or not of_the_run) for old in told
        )
