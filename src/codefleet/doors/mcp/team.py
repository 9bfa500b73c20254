"""The toolset `team`: the fleet as a team of workers to spawn, assign and talk to.

Names and arguments are those that clients of team servers expect; `message`, `text` and the like
mean the same.
"""

from typing import Literal

from codefleet.domain.model import Draft, Task
from codefleet.domain.validation import checked
from codefleet.domain.words import UNFINISHED
from codefleet.domain.worker import heading
from codefleet.doors.mcp import summaries
from codefleet.doors.mcp.summaries import View
from codefleet.doors.mcp.toolset import Toolset, one_of
from codefleet.ports import TaskQuery

Filter = Literal["all", "mine", "unassigned"]
MOST_TASKS = 200


class Team(Toolset):
    """Workers, the tasks of the team, and messages to those at work."""

    READS = ("team_status", "team_workers", "team_tasks")
    WRITES = ("team_spawn", "team_dismiss", "team_assign", "team_send", "team_broadcast")

    async def team_status(self) -> View:
        """The agents of the fleet, what each works on, and what waits for a human."""
        return summaries.status(await self.fleet.status())

    async def team_workers(self) -> View:
        """The workers: agents with a handle that have not ended, with state and health."""
        return {"workers": [worker.plain() for worker in await self.fleet.workers()]}

    async def team_tasks(self, filter: Filter = "all") -> View:
        """The unfinished tasks: all, mine (my own handle or seat), or those assigned to nobody."""
        found = await self.fleet.list(TaskQuery(states=UNFINISHED, limit=MOST_TASKS))
        me = await self.own_handle()
        return {"tasks": [summaries.task(task) for task in found if _fits(task, filter, me)]}

    async def team_spawn(
        self,
        prompt: str,
        handle: str | None = None,
        swarm_id: str | None = None,
        workingDir: str | None = None,  # noqa: N803 - the name that clients know
        title: str | None = None,
        coder: str | None = None,
        repo_path: str | None = None,
    ) -> View:
        """Put an agent to work on a prompt, in a worktree of its own; it gets the next free seat.

        With a handle, it is a worker that can be called by it, and is most urgent. Returns the
        task. `workingDir` and `repo_path` name the repository.
        """
        repo = await self.server.repo(repo_path or workingDir)
        named = title or heading(prompt) or "Untitled"
        said = {"coder": coder, "repo": repo, "swarm": swarm_id}
        if handle is not None:
            task = await self.fleet.spawn(handle, prompt, title=title, **said)
        else:
            draft = checked(Draft, {"title": named, "prompt": prompt, **said})
            (task,) = await self.fleet.add([draft])
        return await self.moved(task)

    async def team_dismiss(self, handle: str) -> View:
        """End a worker and all its processes. Its work so far is archived, not lost."""
        return await self.moved(await self.fleet.dismiss(handle))

    async def team_assign(
        self,
        agent: str,
        task: str | None = None,
        description: str | None = None,
        task_id: str | None = None,
        repo_path: str | None = None,
    ) -> View:
        """Give work to an agent. With task_id, an existing task goes to that seat and no other.

        Otherwise `task` says what to do: a worker with the handle `agent` that is at work is told
        now; without one, a worker is put to work under that handle.
        """
        if task_id is not None:
            return summaries.task(await self.fleet.edit(task_id, assignee=agent))
        return await self.assigned(agent, one_of(task=task), description, repo_path)

    async def team_send(
        self,
        handle: str | None = None,
        message: str | None = None,
        to: str | None = None,
        text: str | None = None,
    ) -> View:
        """Send a message to an agent, by its handle, seat or task; one that listens gets it now."""
        return (
            await self.fleet.send(one_of(handle=handle, to=to), one_of(message=message, text=text))
        ).plain()

    async def team_broadcast(self, message: str | None = None, text: str | None = None) -> View:
        """Send a message to every agent that is working."""
        sent = await self.fleet.broadcast(one_of(message=message, text=text))
        return {"sent_to": [each.agent for each in sent]}


def _fits(task: Task, filter: Filter, me: str) -> bool:
    if filter == "mine":
        return me in (task.handle, task.assignee, task.id)
    return filter == "all" or not (task.handle or task.assignee)
