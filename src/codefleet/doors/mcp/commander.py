"""The toolset `commander`: the whole fleet, its backlog and its inbox."""

from typing import Any

from mcp.server.mcpserver import Context

from codefleet.coders import fitness
from codefleet.domain.checking import checked
from codefleet.domain.model import Draft, Event, Task
from codefleet.domain.words import State
from codefleet.doors.mcp import briefly
from codefleet.doors.mcp.house import Toolset, View
from codefleet.doors.mcp.limits import Limit, Seconds, Seq
from codefleet.ports import TaskQuery
from codefleet.runner.approval import approve
from codefleet.runner.repos import base


class Commander(Toolset):
    """What the leader of a fleet needs."""

    READS = (
        *("search_backlog", "check_agent_status", "detect_conflicts", "review_completed"),
        *("find_similar_tasks", "analyze_dependencies", "list_inbox", "tail_events", "wait"),
    )
    WRITES = (
        *("create_task", "assign_task", "answer_question"),
        *("land", "reject", "retry", "cancel"),
    )

    async def search_backlog(self, count: Limit = 10, query: str | None = None) -> View:
        """Pending tasks, most urgent first, each with why it is not running yet.

        `query` selects tasks with all its words; a word also matches longer words that start so.
        """
        pending = TaskQuery(states=[State.PENDING], text=query, limit=count)
        tasks = await self.fleet.list(pending)
        why = await self.fleet.why(tasks)
        return {
            "tasks": [{**briefly.task(t), "waits_for": why[t.id].text} for t in tasks],
            "counts": dict(await self.fleet.counts()),
        }

    async def check_agent_status(self) -> View:
        """Who works on what, for how long, and what it costs; resting accounts; today's cost."""
        return briefly.status(await self.fleet.status())

    async def detect_conflicts(self) -> View:
        """Unfinished tasks whose actual changes conflict, or touch the same files."""
        conflicts = await self.fleet.open_conflicts()
        shared = await self.fleet.shared_files()
        return {
            "conflicts": [briefly.conflict(each) for each in conflicts],
            "shared_files": {path: list(tasks) for path, tasks in shared.items()},
        }

    async def assign_task(self, task_id: str, agent: str | None = None) -> View:
        """Assign a task to one agent by name (check_agent_status lists them); null unassigns it."""
        return briefly.task(await self.fleet.edit(task_id, assignee=agent))

    async def review_completed(self, count: Limit = 20) -> View:
        """Completed tasks, newest first, with their results."""
        query = TaskQuery(states=[State.COMPLETED], limit=count, newest_first=True)
        tasks = await self.fleet.list(query)
        runs = await self.fleet.last_runs(tasks)
        return {"tasks": [briefly.completed(task, runs.get(task.id)) for task in tasks]}

    async def find_similar_tasks(self, query: str, count: Limit = 5) -> View:
        """Tasks, including finished ones, similar to this text. Check before you create one."""
        found = await self.fleet.search(query[:2000], count)
        return {"tasks": [{**briefly.task(task), "score": score} for score, task in found]}

    async def create_task(self, tasks: list[dict[str, Any]], repo_path: str | None = None) -> View:
        """Queue tasks, all or none. Each: title, prompt; optional name, needs (names in this call,
        or ids), scope (globs of files it may touch), checks (commands), priority 1-5 (5 first),
        labels, complexity (trivial|small|medium|large|xl), coder, model, budget {usd, tokens},
        assignee, timeout_s, max_attempts.

        State in the prompt what to build, which files to touch and which not, and what must hold.
        Tasks that share no files run in parallel. Work lands as the repository's settings say.
        """
        repo = await self.house.repo(repo_path)
        drafts = [checked(Draft, {**each, "repo": repo.name}) for each in tasks]
        for draft in drafts:
            fitness.refuse_unfit(draft, self.fleet.config.coders)
        added = await self.fleet.add(await base.bound(self.fleet, repo, drafts))
        await self.house.staff()
        return {"tasks": [briefly.task(task) for task in added]}

    async def analyze_dependencies(self, count: Limit = 20) -> View:
        """What holds up what: unfinished tasks by phase, the critical path, bottlenecks."""
        found = await self.fleet.dependencies()
        return {
            "tasks": [
                {**briefly.task(task), "phase": phase} for phase, task in found.tasks[:count]
            ],
            "critical_path": list(found.critical_path),
            "bottlenecks": [
                {"task_id": task, "holds_up": number} for task, number in found.holds_up[:count]
            ],
            "unfinished": len(found.tasks),
        }

    async def list_inbox(self) -> View:
        """What waits for a human: questions, permission requests, work to review, logins."""
        return {"items": [each.plain() for each in await self.fleet.inbox()]}

    async def answer_question(self, id: str, answer: str) -> View:
        """Answer an agent's question (its id or its task's, see list_inbox); the task continues."""
        return await self._moved(await self.fleet.answer(id, answer))

    async def land(self, task_id: str, commit: str | None = None) -> View:
        """Approve work in review: it is checked once more and merged onto the trunk.

        What lands is the commit that its run delivered. If its branch has moved since, this is
        refused with the difference; `commit` names the one you want.
        """
        return await self._moved(await approve(self.house.desk, task_id, commit))

    async def reject(self, task_id: str, reason: str) -> View:
        """Send work in review back to an agent, with the reason."""
        return await self._moved(await self.fleet.reject(task_id, reason))

    async def retry(self, task_id: str) -> View:
        """Put a failed or cancelled task back in the queue."""
        return await self._moved(await self.fleet.retry(task_id))

    async def cancel(self, task_id: str) -> View:
        """Stop a task for good; its work so far is archived, not lost."""
        return await self._moved(await self.fleet.cancel(task_id))

    async def tail_events(
        self, task_id: str | None = None, after: Seq | None = None, limit: Limit = 50
    ) -> View:
        """Events, oldest first: the last ones, or those after a `seq`.

        Continue with next_after.
        """
        newest = after is None
        found = await self.fleet.events(after=after or 0, task=task_id, limit=limit, newest=newest)
        return {
            "events": [_told(event) for event in found],
            "next_after": found[-1].seq if found else after or 0,
        }

    async def wait(self, ids: list[str], ctx: Context, timeout_seconds: Seconds = 60) -> View:
        """Wait until these tasks, workers or workflows end or need a human, or time runs out.

        Reports progress meanwhile. `settled` is false if time ran out first: call again.
        """
        tasks = [task for each in ids for task in await self.fleet.tasks_of(each)]
        seen: list[Task] = []
        steps = 0
        async for found in self.fleet.watch(tasks, timeout_seconds):
            seen, steps = list(found), steps + 1
            done = sum(task.state.is_final for task in seen)
            await ctx.report_progress(steps, message=f"{done} of {len(seen)} ended")
        return {
            "settled": await self.fleet.settled(seen),
            "tasks": [briefly.task(task) for task in seen],
        }

    async def _moved(self, task: Task) -> View:
        await self.house.staff()
        return briefly.task(task)


def _told(event: Event) -> View:
    """An event without its empty fields."""
    return {name: value for name, value in event.plain().items() if value not in (None, "", {})}
