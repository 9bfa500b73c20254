"""One message to many: to all agents at work of a team, or of a swarm."""

from collections.abc import Sequence

from codefleet.domain.access import Right
from codefleet.domain.errors import Refused
from codefleet.domain.model import Message, PostPriority, PostType
from codefleet.domain.words import State
from codefleet.fleet.blackboard import Blackboard
from codefleet.fleet.messages import Messages, refuse_unsendable
from codefleet.fleet.task_teams import team_named
from codefleet.fleet.viewer import viewer
from codefleet.ports import TaskQuery, Write


class Broadcasts(Blackboard, Messages):
    async def broadcast(
        self,
        text: str,
        *,
        swarm: str | None = None,
        team: str | None = None,
        priority: str = PostPriority.NORMAL,
    ) -> Sequence[Message]:
        """Send a message to every agent at work that the actor sees, or to a swarm's or a team's.

        A swarm also gets it as a directive on its blackboard, where agents that start later read
        it. All of it is one step.
        """
        refuse_unsendable(text)
        await self.core.permit(Right.BROADCAST)
        if team is not None:
            await team_named(self.core, team)
        posting = await self._directive(swarm, text, priority) if swarm is not None else Write()
        sees = (await viewer(self.core)).sees
        working = TaskQuery(states=[State.RUNNING], swarm=swarm, team=team)
        told = [task for task in await self.core.store.tasks(working) if sees(task)]
        if not told and swarm is None:
            raise Refused("no agent is working", hint="`fleet agents` shows the agents")
        sending = await self._sending(told, text)
        step = Write(
            records=[*sending.records, *posting.records],
            events=[*posting.events, *sending.events],
        )
        await self.core.write(step)
        return [each for each in sending.records if isinstance(each, Message)]

    async def _directive(self, swarm: str, text: str, priority: str) -> Write:
        """The step that posts a directive."""
        said = {"type": PostType.DIRECTIVE, "payload": {"directive": text}, "priority": priority}
        return await self._posting(swarm, said, None)
