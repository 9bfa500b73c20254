"""Budgets that tasks share, what is spent of them, and the warnings of a day."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from codefleet.domain import budget
from codefleet.domain.budget import Standing
from codefleet.domain.model import Budget, Task, TaskId, Usage, Workflow
from codefleet.domain.views import Limit
from codefleet.fleet import lineage, spending
from codefleet.fleet.costs import LATEST, unseen, warning
from codefleet.fleet.dispatch.part import DispatchPart
from codefleet.fleet.workflows import limit_of
from codefleet.ports import Write


class Shared(NamedTuple):
    """A budget that several tasks share."""

    name: str
    budget: Budget
    tasks: Sequence[TaskId]


class Budgets(DispatchPart):
    async def budgets_above(self, task: Task) -> Sequence[Shared]:
        """The budgets that this task shares because an agent created it; none for a human's."""
        above = await lineage.above(self.core.store, task)
        if not above:
            return ()
        found = [
            Shared(f"the task {each.id}", each.budget, await self._family(each.id))
            for each in above
            if each.budget
        ]
        names = [each.stage.workflow for each in above if each.stage]
        for flow in await self.core.store.records(Workflow, ids=names) if names else ():
            if flow.budget:
                family = await self._family(*flow.tasks)
                found.append(Shared(f"the workflow {flow.id}", flow.budget, family))
        return found

    async def spent_below(self, task: Task) -> Usage:
        """What the tasks that agents created below this one have used."""
        _, *below = await self._family(task.id)
        runs = await self.core.store.runs(tasks=below) if below else ()
        return sum((run.usage for run in runs), start=Usage())

    async def _family(self, *tasks: TaskId) -> Sequence[TaskId]:
        return await lineage.descendants(self.core.store, tasks)

    async def limits_of(self, shared: Iterable[Shared]) -> Sequence[Limit]:
        """What these budgets allow, and how much of them is spent."""
        limits = []
        for name, allowed, tasks in shared:
            runs = await self.core.store.runs(tasks=tasks)
            spent = sum((run.usage for run in runs), start=Usage())
            limits.append(Limit(name=name, budget=allowed, spent=spent))
        return limits

    async def workflow_limit(self, task: Task) -> Limit | None:
        """What the workflow of this stage may cost, and what all its runs have cost so far."""
        if task.stage is None:
            return None
        (flow,) = await self.core.store.records(Workflow, ids=[task.stage.workflow])
        return limit_of(flow, await self.core.store.runs(tasks=flow.tasks) if flow.budget else ())

    async def day_limits(self) -> Sequence[Limit]:
        """Every limit on today's cost, and what is spent of it: the fleet's, then the repos'."""
        return await spending.day_limits(self.core)

    async def spent_up(self) -> Mapping[str, str]:
        """The repos in which nothing more may start today, each with the reason."""
        return await spending.spent_up(self.core)

    async def warn_of_the_day(self) -> None:
        """Warn once a day of each limit that is spent or nearly spent, or misses some usage."""
        limits = await self.day_limits()
        now = await self.core.store.now()
        judged = [budget.judge([limit]) for limit in limits]
        news = [warning(each, now) for each in judged if each.standing is not Standing.OK]
        if self.core.config.run_budget_usd or any(limit.budget.usd for limit in limits):
            unpriced = await spending.unpriced_today(self.core)
            news += [unseen(*each, now) for each in unpriced.items()]
        if not news:
            return
        told = await self.core.store.events(kinds=["budget.warned"], limit=LATEST, newest=True)
        today = [old.data for old in told if old.at >= budget.day_of(now)]
        if fresh := [each for each in news if each.data not in today]:
            await self.core.write(Write(events=fresh))
