"""The toolset `team`: the tasks of the team, claims on files, and worktrees."""

from typing import Any, ClassVar

from codefleet.domain.errors import Invalid
from codefleet.doors import team_tasks
from codefleet.doors.mcp import summaries
from codefleet.doors.mcp.summaries import View
from codefleet.doors.mcp.team import Filter, Team
from codefleet.doors.mcp.toolset import Toolset
from codefleet.doors.team_tasks import Status
from codefleet.runner import verbs


class TeamTasks(Toolset):
    """Tasks in the terms of a team."""

    READS = ("list_tasks",)
    WRITES = ("create_task", "update_task", "team_complete")

    async def create_task(
        self,
        agent: str | None = None,
        task: str | None = None,
        description: str | None = None,
        tasks: list[dict[str, Any]] | None = None,
        repo_path: str | None = None,
    ) -> View:
        """Queue work: either `task` for the handle `agent`, as team_assign does, or many `tasks`.

        Each of `tasks`: title, prompt; optional name, needs (names in this call, or ids), scope
        (globs), checks (commands), priority 1-5 (5 first), labels, coder, model, budget, handle,
        swarm.
        """
        if tasks is not None:
            added = await self.fleet.add(await self.server.drafts(tasks, repo_path))
            await self.server.ensure_runner()
            return {"tasks": [summaries.task(each) for each in added]}
        if agent is None or task is None:
            raise Invalid("what should be done?", hint="give agent and task, or tasks")
        return await self.assigned(agent, task, description, repo_path)

    async def list_tasks(self, filter: Filter = "all") -> View:
        """The same as team_tasks."""
        return await Team(self.server).team_tasks(filter)

    async def update_task(self, task_id: str, status: Status) -> View:
        """Move a task: pending (retry or resume), in_progress (resume), blocked (pause), completed
        (as team_complete)."""
        task = await team_tasks.move(self.fleet, task_id, status)
        opens = status in ("pending", "in_progress")
        return await self.moved(task) if opens else summaries.task(task)

    async def team_complete(self, task_id: str) -> View:
        """Land the work of a task that waits for a review.

        Otherwise a task is completed by the fleet itself, when git and the checks agree.
        """
        return summaries.task(await team_tasks.complete(self.fleet, task_id))


class FilesOfTheTeam(Toolset):
    """Claims on files."""

    WRITES: ClassVar[tuple[str, ...]] = ("team_claim",)

    async def team_claim(self, file: str, repo_path: str | None = None) -> View:
        """Claim a file, or a glob such as src/mail/**, before you change it.

        If another agent has claimed it, `claimed` is false and `held_by` says who. A claim lasts
        as long as your task; it is advice, which all agents see.
        """
        done = await self.fleet.claim_files(
            [file], handle=self.server.handle, repo=await self.server.repo(repo_path)
        )
        held = [summaries.claim(each) for each in done.held_by]
        return {"claimed": done.claimed, "held_by": held}


class Worktrees(Toolset):
    """The worktree of a worker; an agent's own."""

    WRITES = ("worktree_commit", "worktree_push")

    async def worktree_commit(self, message: str, handle: str | None = None) -> View:
        """Commit everything in the worktree of a worker at work, without running hooks."""
        return (await verbs.commit_worktree(self.server.context, message, handle))._asdict()

    async def worktree_push(self, handle: str | None = None) -> View:
        """Push the branch of a worker to the remote of its repository; agents may not."""
        done = await verbs.push_worktree(self.server.context, handle)
        return {"branch": done.branch, "commit": done.commit}
