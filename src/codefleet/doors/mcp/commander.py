"""The toolset `commander`: the backlog and who works on it. Its other half is `review`."""

from typing import Any

from mcp.server.mcpserver import Context

from codefleet.domain.words import State
from codefleet.doors.mcp import summaries
from codefleet.doors.mcp.limits import Limit, Seconds
from codefleet.doors.mcp.summaries import View
from codefleet.doors.mcp.toolset import Toolset
from codefleet.ports import TaskQuery


class Commander(Toolset):
    """What the leader of a fleet needs."""

    READS = (
        *("search_backlog", "check_agent_status", "detect_conflicts"),
        *("find_similar_tasks", "analyze_dependencies", "wait"),
    )
    WRITES = (
        *("create_task", "assign_task", "edit_task", "pause_task", "resume_task"),
        *("retry", "cancel"),
    )

    async def search_backlog(self, count: Limit = 10, query: str | None = None) -> View:
        """Pending tasks, most urgent first, each with why it is not running yet.

        `query` selects tasks with all its words; a word also matches longer words that start so.
        """
        pending = TaskQuery(states=[State.PENDING], text=query, limit=count)
        tasks = await self.fleet.list(pending)
        why = await self.fleet.why(tasks)
        return {
            "tasks": [{**summaries.task(t), "waits_for": why[t.id].text} for t in tasks],
            "counts": dict(await self.fleet.counts()),
        }

    async def check_agent_status(self) -> View:
        """Who works on what, for how long, and what it costs; resting accounts; today's cost."""
        return summaries.status(await self.fleet.status())

    async def detect_conflicts(self) -> View:
        """Unfinished tasks whose actual changes conflict or touch the same files; claimed files."""
        conflicts = await self.fleet.open_conflicts()
        shared = await self.fleet.shared_files()
        return {
            "conflicts": [summaries.conflict(each) for each in conflicts],
            "shared_files": {path: list(tasks) for path, tasks in shared.items()},
            "claimed_files": [summaries.claim(it) for it in await self.fleet.file_claims()],
        }

    async def assign_task(self, task_id: str, agent: str | None = None) -> View:
        """Assign a task to one agent by name (check_agent_status lists them); null unassigns it."""
        return summaries.task(await self.fleet.edit(task_id, assignee=agent))

    async def edit_task(self, task_id: str, changes: dict[str, Any]) -> View:
        """Change fields of a task, as in create_task. A list replaces the old one; null clears a
        field that may be empty.

        A running agent sees the change in its next run.
        """
        return summaries.task(await self.fleet.edit(task_id, **changes))

    async def pause_task(self, task_id: str) -> View:
        """Keep a task from starting or landing; a run of it is stopped gently, its work is kept."""
        task = await self.fleet.pause(task_id)
        return summaries.task(task) if task else {}

    async def resume_task(self, task_id: str) -> View:
        """Let a paused task start again; an agent takes it when a seat is free."""
        task = await self.fleet.resume(task_id)
        return await self.moved(task) if task else {}

    async def find_similar_tasks(self, query: str, count: Limit = 5) -> View:
        """Tasks, including finished ones, similar to this text. Check before you create one."""
        found = await self.fleet.search(query[:2000], count)
        return {"tasks": [{**summaries.task(task), "score": score} for score, task in found]}

    async def create_task(self, tasks: list[dict[str, Any]], repo_path: str | None = None) -> View:
        """Queue tasks, all or none. Each: title, prompt; optional name, needs (names in this call,
        or ids), scope (globs of files it may touch), checks (commands), priority 1-5 (5 first),
        labels, complexity (trivial|small|medium|large|xl), coder, model, budget {usd, tokens},
        assignee, timeout_s, max_attempts.

        State in the prompt what to build, which files to touch and which not, and what must hold.
        Tasks that share no files run in parallel. Work lands as the repository's settings say.
        """
        added = await self.fleet.add(await self.server.drafts(tasks, repo_path))
        await self.server.ensure_runner()
        return {"tasks": [summaries.task(task) for task in added]}

    async def analyze_dependencies(self, count: Limit = 20) -> View:
        """What holds up what: unfinished tasks by phase, the critical path, bottlenecks,
        and failed tasks with all that waits for them."""
        found = await self.fleet.dependencies()
        return {
            "tasks": [
                {**summaries.task(task), "phase": phase} for phase, task in found.tasks[:count]
            ],
            "critical_path": list(found.critical_path),
            "bottlenecks": [
                {"task_id": task, "holds_up": number} for task, number in found.holds_up[:count]
            ],
            "failures": [
                {"task_id": task, "holds_up": list(held)} for task, held in found.failures[:count]
            ],
            "unfinished": len(found.tasks),
        }

    async def retry(self, task_id: str) -> View:
        """Put a failed or cancelled task back in the queue."""
        return await self.moved(await self.fleet.retry(task_id))

    async def cancel(self, task_id: str) -> View:
        """Stop a task for good; its work so far is archived, not lost."""
        return await self.moved(await self.fleet.cancel(task_id))

    async def wait(self, ids: list[str], ctx: Context, timeout_seconds: Seconds = 60) -> View:
        """Wait until these tasks, workers or workflows end or need a human, or time runs out.

        Reports progress meanwhile. `settled` is false if time ran out first: call again.
        """
        steps = 0
        async for seen in self.fleet.watch(ids, timeout_seconds):
            steps += 1
            done = sum(task.state.is_final for task in seen.tasks)
            await ctx.report_progress(steps, message=f"{done} of {len(seen.tasks)} ended")
        return {
            "settled": seen.settled,
            "tasks": [summaries.task(task) for task in seen.tasks],
        }
