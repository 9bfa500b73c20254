"""Workflows: start, look at, cancel, retry. How one stands is derived from its tasks."""

from collections.abc import Sequence

from codefleet.domain import workflow
from codefleet.domain.errors import Invalid, NotFound
from codefleet.domain.model import Run, State, Task, TaskId, Workflow, WorkflowStatus
from codefleet.domain.workflow import Plan
from codefleet.fleet.tasks import Tasks, new_id
from codefleet.ports import TaskQuery


class Workflows(Tasks):
    async def start(self, plan: Plan, repo: str | None = None) -> Workflow:
        """Turn a plan into tasks, all or none."""
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
                    created_at=first.created_at,
                )
            )
            return made[0]

        await self._add(workflow.drafts(plan, flow_id, repo), flow)
        return made[0]

    async def workflows(self) -> Sequence[WorkflowStatus]:
        """Every workflow, the newest first."""
        return [await self._stands(flow) for flow in reversed(await self.store.workflows())]

    async def workflow(self, ref: str) -> WorkflowStatus:
        """The workflow with this id, or the only one whose id begins so."""
        return await self._stands(await self._flow(ref))

    async def cancel_workflow(self, ref: str) -> WorkflowStatus:
        """Stop every stage that has not ended; what they made so far is archived, not lost."""
        flow = await self._flow(ref)
        for task in await self._tasks_of(flow):
            if not (await self.get(task.id)).state.is_final:
                await self.cancel(task.id)
        return await self._stands(flow)

    async def retry_workflow(self, ref: str) -> WorkflowStatus:
        """Put failed and cancelled stages back into the queue; completed ones stay as they are."""
        flow = await self._flow(ref)
        for task in await self._tasks_of(flow):
            if task.state in (State.FAILED, State.CANCELLED):
                await self.retry(task.id)
        return await self._stands(flow)

    async def _flow(self, ref: str) -> Workflow:
        found = await self.store.workflows(ids=[ref])
        if not found and len(ref) >= 2:
            found = [each for each in await self.store.workflows() if each.id.startswith(ref)]
        if len(found) > 1:
            ids = ", ".join(each.id for each in found[:3])
            raise Invalid(f"{ref} could be {ids}", hint="type more of the id")
        if not found:
            raise NotFound(f"no workflow {ref[:80]}", hint="`fleet workflow list` shows every one")
        return found[0]

    async def _tasks_of(self, flow: Workflow) -> Sequence[Task]:
        """Its tasks in the order of its stages."""
        found = {task.id: task for task in await self.store.tasks(TaskQuery(ids=flow.tasks))}
        return [found[each] for each in flow.tasks if each in found]

    async def _stands(self, flow: Workflow) -> WorkflowStatus:
        tasks = await self._tasks_of(flow)
        runs: dict[TaskId, Run] = {}
        for run in await self.store.runs(tasks=flow.tasks):
            runs[run.task] = run
        return WorkflowStatus(
            workflow=flow,
            state=workflow.state([task.state for task in tasks]),
            tasks=tuple(tasks),
            runs=tuple(runs.values()),
        )
