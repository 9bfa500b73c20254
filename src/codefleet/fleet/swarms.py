"""Swarms: create, look at, broadcast, kill. Their members are the workers of their tasks."""

from collections.abc import Sequence
from contextlib import suppress

from codefleet.domain.access import Right
from codefleet.domain.errors import IllegalMove, Stale
from codefleet.domain.events import event
from codefleet.domain.model import Swarm, Task
from codefleet.domain.validation import checked
from codefleet.domain.words import UNFINISHED, State
from codefleet.fleet import task_teams
from codefleet.fleet.core import TRIES
from codefleet.fleet.lookup import find_swarm
from codefleet.fleet.viewer import viewer
from codefleet.fleet.workers import Workers
from codefleet.ports import TaskQuery, Write


class Swarms(Workers):
    async def create_swarm(
        self, name: str, *, description: str = "", max_agents: int = 10, team: str | None = None
    ) -> Swarm:
        """Create a group of agents with a blackboard; at most `max_agents` work at once."""
        import secrets  # imported here, because it is slow and few commands need it

        await self.core.permit(Right.SWARM)
        now = await self.core.store.now()
        said = {"name": name.strip(), "description": description, "max_agents": max_agents}
        whole = {"id": f"s-{secrets.token_hex(4)}", "team": await self._owner(team)}
        made = checked(Swarm, {**said, **whole, "created_at": now})
        told = event("swarm.created", now, made.name, swarm=made.id, team=made.team)
        await self.core.write(Write(records=[made], events=[told]))
        return made

    async def swarms(self, *, all: bool = False) -> Sequence[Swarm]:
        """The swarms that were not killed, or all of them; the oldest first."""
        sees = (await viewer(self.core)).sees
        found = await self.core.store.records(Swarm, open_only=not all)
        return [swarm for swarm in found if sees(swarm)]

    async def swarm(self, ref: str) -> Swarm:
        """The swarm with this id."""
        return await find_swarm(self.core, ref)

    async def kill_swarm(self, ref: str) -> Sequence[Task]:
        """Stop all agents of a swarm and cancel what has not started; returns those tasks.

        Their work is archived. Finished work that waits for a review stays. Nothing of a killed
        swarm starts again.
        """
        await self.core.permit(Right.SWARM)
        await self._close(ref)
        stopped = []
        states = [state for state in UNFINISHED if state is not State.REVIEW]
        for task in await self.core.store.tasks(TaskQuery(swarm=ref, states=states)):
            with suppress(IllegalMove):  # it has just ended by itself
                stopped.append(await self.cancel(task.id))
        return stopped

    async def _owner(self, team: str | None) -> str | None:
        """The team of a new swarm: the actor's own, or one that it sees."""
        wanted = team or await self.core.own_team()
        return (await task_teams.team_named(self.core, wanted)).name if wanted else None

    async def _close(self, ref: str) -> None:
        for _ in range(TRIES):
            swarm = await find_swarm(self.core, ref)
            if swarm.killed_at:
                return
            now = await self.core.store.now()
            killed = swarm.evolve(killed_at=now, version=swarm.version + 1)
            told = event("swarm.killed", now, swarm.name, swarm=swarm.id, team=swarm.team)
            with suppress(Stale):
                await self.core.write(Write(records=[killed], events=[told]))
                return
        raise Stale(f"{ref} keeps changing", hint="try again")
