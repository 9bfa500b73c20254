"""The toolset `workflows`: stages in which one agent's result is the next one's prompt."""

from typing import Any

from codefleet.domain.views import WorkflowStatus
from codefleet.domain.workflow import workflow
from codefleet.doors.mcp import views
from codefleet.doors.mcp.limits import Limit
from codefleet.doors.mcp.summaries import View
from codefleet.doors.mcp.toolset import Toolset, page
from codefleet.runner import verbs


class Workflows(Toolset):
    """Names, arguments and payloads that clients of workflow servers expect."""

    READS = ("get_workflow_status", "list_workflows", "collect_workflow_result")
    WRITES = ("create_workflow", "cancel_workflow", "cleanup_workflow")

    async def create_workflow(
        self,
        name: str,
        repo_path: str,
        task_prompt: str,
        stages: list[dict[str, Any]],
        base_ref: str = "HEAD",
        timeout_seconds: float | None = None,
        budget: dict[str, Any] | None = None,
    ) -> View:
        """Start a graph of stages; returns at once. Follow it with get_workflow_status or `wait`.

        A stage: name, executor, prompt_template; optional depends_on (indexes of stages before
        it), worktree_strategy ("new", or "inherit": start from the work of those stages), model,
        timeout_seconds, reasoning_effort, extra_args, checks (commands), when, on_failure (fail |
        continue | retry N), gate (a question to a human instead of an agent).
        `budget` {usd, tokens} is for the whole workflow.
        Templates can use {task_prompt} and {stage_N_summary|files|next_steps|status|result}.
        Write, review, refine: [{"name":"write","executor":"codex","prompt_template":
        "{task_prompt}"},{"name":"review","executor":"claude","prompt_template":"Review:
        {stage_0_summary} {stage_0_files}","worktree_strategy":"inherit","depends_on":[0]},...].
        """
        said = {
            "name": name,
            "task_prompt": task_prompt,
            "budget": budget,
            "stages": [_timed(stage, timeout_seconds) for stage in stages],
        }
        plan = workflow.parse(said)
        flow = await self.fleet.start(plan.evolve(base=base_ref), await self.server.repo(repo_path))
        await self.server.ensure_runner()
        return await self._view(await self.fleet.workflow(flow.id))

    async def get_workflow_status(self, workflow_id: str) -> View:
        """The status of a workflow and each of its stages, with progress and elapsed times."""
        return await self._view(await self.fleet.workflow(workflow_id))

    async def list_workflows(
        self, statuses: list[str] | None = None, limit: Limit = 25, cursor: str | None = None
    ) -> View:
        """Workflows, newest first, with these statuses or all. Continue with next_cursor."""
        views.refuse_unknown(statuses or ())
        now = await self.fleet.now()
        every = [views.workflow(stands, now) for stands in await self.fleet.workflows()]
        fits = [view for view in every if not statuses or view["status"] in statuses]
        flows, more = page(fits, limit, cursor)
        return {
            "workflows": flows,
            "count": len(flows),
            "summary": views.summary(flows, "workflow"),
            "next_cursor": more,
        }

    async def cancel_workflow(self, workflow_id: str) -> View:
        """Stop every unfinished stage; the work so far is archived, not lost."""
        return await self._view(await self.fleet.cancel_workflow(workflow_id))

    async def collect_workflow_result(
        self, workflow_id: str, include_all_stages: bool = False, include_logs: bool = False
    ) -> View:
        """The result of a workflow: final_result, from its last stage, or all stage_results.

        `include_logs` lists the log of each run, a resource to read.
        """
        found = await self.fleet.collect_workflow(workflow_id, every=include_all_stages)
        results = [views.stage_result(each) for each in found.results]
        stands = await self.fleet.workflow(workflow_id)
        told = await self._view(stands)
        if include_logs:
            told["logs"] = [f"fleet://runs/{run.id}/log" for run in stands.runs]
        if include_all_stages:
            return {**told, "stage_results": results}
        return {**told, "final_result": results[-1] if results else None}

    async def cleanup_workflow(self, workflow_id: str) -> View:
        """Remove the worktrees and branches of a finished workflow.

        Branches that are not on the trunk are kept under refs/fleet/archive/: no work is lost.
        """
        removed = verbs.cleanup_workflow(self.server.context, workflow_id)
        told = [each._asdict() async for each in removed]
        return {"workflow_id": workflow_id, "cleaned": told}

    async def _view(self, stands: WorkflowStatus) -> View:
        return views.workflow(stands, await self.fleet.now())


def _timed(stage: dict[str, Any], seconds: float | None) -> dict[str, Any]:
    """Apply the workflow's timeout to each stage that has none of its own."""
    has_one = stage.get("timeout_seconds") is not None or "timeout_s" in stage
    return stage if seconds is None or has_one else {**stage, "timeout_seconds": seconds}
