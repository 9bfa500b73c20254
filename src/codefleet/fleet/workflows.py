"""Workflows: start, show, cancel, retry, collect. Their state is derived from their tasks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid, NotFound, Stale
from codefleet.domain.events import event
from codefleet.domain.lifecycle import Verb, move
from codefleet.domain.model import Budget, Event, Run, Task, TaskId, Usage, Workflow
from codefleet.domain.suggestion import did_you_mean
from codefleet.domain.views import Limit, WorkflowStatus
from codefleet.domain.workflow import moves, results, workflow
from codefleet.domain.workflow.plan import Plan
from codefleet.domain.workflow.results import Collected
from codefleet.fleet import lineage, output
from codefleet.fleet.core import TRIES, may
from codefleet.fleet.tasks import Tasks, new_id, retried
from codefleet.ports import TaskQuery, Write

CANCELLED = "its workflow was cancelled"

Step = Callable[[Task, datetime], tuple[Task, Event] | None]


class Workflows(Tasks):
    async def start(self, plan: Plan, repo: str | None = None, team: str | None = None) -> Workflow:
        """Turn a plan into tasks, all or none, for this team."""
        workflow.refuse_without_prompt(plan)
        flow_id = f"w{new_id()}"
        made: list[Workflow] = []

        def flow(tasks: Sequence[Task]) -> Workflow:
            first = tasks[0]
            made.append(
                Workflow(
                    id=flow_id,
                    name=plan.name,
                    prompt=plan.prompt,
                    repo=first.repo,
                    tasks=tuple(task.id for task in tasks),
                    budget=plan.budget,
                    created_at=first.created_at,
                )
            )
            return made[0]

        drafts = [each.evolve(team=team) for each in workflow.drafts(plan, flow_id, repo)]
        await self._add(drafts, flow)
        return made[0]

    async def workflows(self) -> Sequence[WorkflowStatus]:
        """Every workflow, newest first."""
        return await self._stand([*reversed(await self.core.store.records(Workflow))])

    async def workflow(self, ref: str) -> WorkflowStatus:
        """The workflow with this id, or the only one whose id begins with it."""
        return (await self._stand([await self._flow(ref)]))[0]

    async def family_of(self, ref: str) -> tuple[TaskId, ...]:
        """The tasks of a workflow, and all those that agents created in it."""
        return tuple(await lineage.descendants(self.core.store, (await self._flow(ref)).tasks))

    async def cancel_workflow(self, ref: str) -> WorkflowStatus:
        """Stop every stage that has not ended; their work so far is archived, not lost."""
        await self.core.permit(Right.CANCEL, *await self._tasks([await self._flow(ref)]))
        return await self._together(ref, _cancelled)

    async def retry_workflow(self, ref: str, budget: Budget | None = None) -> WorkflowStatus:
        """Put failed and cancelled stages back into the queue; completed ones stay as they are.

        With a `budget`, that becomes the limit for the whole workflow.
        """
        await self.core.permit(Right.RETRY_WORKFLOW)
        return await self._together(ref, _retried, budget)

    async def collect_workflow(self, ref: str, *, every: bool = False) -> Collected:
        """The results of the last stages, or of `every` stage; partial while it is not over."""
        stands = await self.workflow(ref)
        found = results.results(stands.tasks, stands.runs)
        needed = {need for task in stands.tasks for need in task.needs}
        return Collected(
            workflow=stands.workflow,
            state=stands.state,
            results=tuple(each for each in found if every or each.task not in needed),
        )

    async def _together(self, ref: str, step: Step, budget: Budget | None = None) -> WorkflowStatus:
        """Apply `step` to all stages at once; retry if someone else was first."""
        for _ in range(TRIES):
            flow, now = await self._flow(ref), await self.core.store.now()
            steps = [step(task, now) for task in await self._tasks([flow])]
            changed = [each for each in steps if each]
            tasks, events = [task for task, _ in changed], [told for _, told in changed]
            closed = await self.core.withdrawn(tasks, now)
            flows = [flow.evolve(budget=budget, version=flow.version + 1)] if budget else []
            written = Write(tasks=tasks, records=[*closed, *flows], events=events)
            try:
                if changed or flows:
                    await self.core.write(written)
            except Stale:
                continue
            flow = flows[0] if flows else flow
            return (await self._stand([flow]))[0]
        raise Stale(f"{ref} keeps changing", hint="try again")

    async def _flow(self, ref: str) -> Workflow:
        found = await self.core.store.records(Workflow, ids=[ref])
        if not found and len(ref) >= 2:
            found = [
                each for each in await self.core.store.records(Workflow) if each.id.startswith(ref)
            ]
        if len(found) > 1:
            ids = ", ".join(each.id for each in found[:3])
            raise Invalid(f"{ref} could be {ids}", hint="type more of the id")
        if not found:
            known = [each.id for each in await self.core.store.records(Workflow)]
            hint = did_you_mean(ref[:80], known, "`fleet workflow list` shows every workflow")
            raise NotFound(f"no workflow {ref[:80]}", hint=hint)
        return found[0]

    async def _tasks(self, flows: Sequence[Workflow]) -> Sequence[Task]:
        """Their tasks in the order of their stages."""
        ids = [task for flow in flows for task in flow.tasks]
        found = {task.id: task for task in await self.core.store.tasks(TaskQuery(ids=ids))}
        return [found[each] for each in ids]

    async def _stand(self, flows: Sequence[Workflow]) -> Sequence[WorkflowStatus]:
        if not flows:
            return ()
        tasks = {task.id: task for task in await self._tasks(flows)}
        runs: dict[TaskId, list[Run]] = {}
        found = await self.core.store.runs(tasks=list(tasks))
        for run in await output.shown_runs(self.core, found):
            runs.setdefault(run.task, []).append(run)
        return [
            await self._status(flow, [tasks[each] for each in flow.tasks], runs) for flow in flows
        ]

    async def _status(
        self, flow: Workflow, tasks: Sequence[Task], runs: Mapping[TaskId, Sequence[Run]]
    ) -> WorkflowStatus:
        possible = moves.moves(tasks)
        return WorkflowStatus(
            workflow=flow,
            state=workflow.state([task.state for task in tasks]),
            tasks=tuple(tasks),
            runs=tuple(runs[task.id][-1] for task in tasks if task.id in runs),
            limit=limit_of(flow, [run for task in flow.tasks for run in runs.get(task, ())]),
            moves=tuple([it for it in possible if await may(self.core, moves.RIGHTS[it], *tasks)]),
        )


def limit_of(flow: Workflow, runs: Iterable[Run]) -> Limit | None:
    if flow.budget is None:
        return None
    spent = sum((run.usage for run in runs), start=Usage())
    return Limit(name=f"the workflow {flow.id}", budget=flow.budget, spent=spent)


def _cancelled(task: Task, now: datetime) -> tuple[Task, Event] | None:
    if not moves.can_stop(task):
        return None
    gone = {"fence": task.fence + 1, "paused": False, "note": CANCELLED}
    stopped = move(task, Verb.CANCEL, **gone, updated_at=now)
    return stopped, event("task.cancelled", now, CANCELLED, task=task)


def _retried(task: Task, now: datetime) -> tuple[Task, Event] | None:
    if not moves.can_retry(task):
        return None
    return retried(task, now), event("task.retried", now, task=task)
