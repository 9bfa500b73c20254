"""The toolset `team`: the fleet as a team to spawn, assign and talk to."""

from codefleet.coders import registry
from codefleet.domain.checking import checked
from codefleet.domain.errors import Refused
from codefleet.domain.model import Draft
from codefleet.doors.mcp import briefly
from codefleet.doors.mcp.house import Toolset, View


class Team(Toolset):
    """The same fleet in terms of a team."""

    READS = ("team_status",)
    WRITES = ("team_spawn", "team_assign", "team_send", "team_broadcast")

    async def team_status(self) -> View:
        """The agents of the fleet, what each works on, and what waits for a human."""
        return briefly.status(await self.fleet.status())

    async def team_spawn(
        self,
        prompt: str,
        title: str | None = None,
        coder: str | None = None,
        repo_path: str | None = None,
    ) -> View:
        """Put an agent to work on a prompt; it gets the next free seat. Returns the task."""
        if coder is not None:
            registry.refuse_unknown(coder)
        repo = await self.house.repo(repo_path)
        heading = title or next(iter(prompt.strip().splitlines()), "")[:80] or "Untitled"
        said = {"title": heading, "prompt": prompt, "coder": coder, "repo": repo.name}
        draft = checked(Draft, said)
        (task,) = await self.fleet.add([draft])
        await self.house.staff()
        return briefly.task(task)

    async def team_assign(self, task_id: str, agent: str) -> View:
        """Assign a task to one agent; no other may take it."""
        return briefly.task(await self.fleet.edit(task_id, assignee=agent))

    async def team_send(self, to: str, text: str) -> View:
        """Send a message to an agent, by its name or task; one that is listening gets it now."""
        return (await self.fleet.send(to, text)).plain()

    async def team_broadcast(self, text: str) -> View:
        """Send a message to every agent that is working."""
        await self.fleet.permit("send messages")
        working = [agent for agent in await self.fleet.agents() if agent.state == "working"]
        if not working:
            raise Refused("no agent is working", hint="team_status shows the agents")
        sent = [await self.fleet.send(agent.name, text) for agent in working]
        return {"sent_to": [message.agent for message in sent]}
