"""`/teams`: who is in a team, and one message to all its agents at work."""

from collections.abc import Sequence
from typing import Any

from codefleet.api import again
from codefleet.domain.model import Message
from codefleet.domain.noun import Instant, Noun
from codefleet.domain.teammate import Teammate, teammates
from codefleet.domain.words import Role
from codefleet.domain.worker import WorkerState
from codefleet.fleet import Fleet


class TeamAgent(Noun, rename="camel"):
    """Somebody in a team; with a `state` while an agent works under the handle."""

    uid: str
    handle: str
    team_name: str
    agent_type: Role
    created_at: Instant
    state: WorkerState | None = None


class BroadcastSent(Noun, rename="camel"):
    """The seats of the agents that get the message."""

    success: bool = True
    sent_to: Sequence[str]


async def agents(fleet: Fleet, team: str) -> Sequence[TeamAgent]:
    """The members of a team, and its workers."""
    found = teammates(team, await fleet.members(team), await fleet.workers())
    return [_agent(each) for each in found]


async def broadcast(
    fleet: Fleet,
    team: str,
    text: str,
    from_: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> BroadcastSent:
    """Send a message to all agents of a team at work. The token says who sends it."""
    return _sent(await fleet.broadcast(text, team=team))


async def broadcasted(fleet: Fleet, made: Sequence[str]) -> BroadcastSent:
    """The message that a request sent."""
    return _sent(await again.broadcasted(fleet, made))


def _sent(messages: Sequence[Message]) -> BroadcastSent:
    return BroadcastSent(sent_to=[message.agent for message in messages])


def _agent(each: Teammate) -> TeamAgent:
    return TeamAgent(
        uid=each.uid,
        handle=each.handle,
        team_name=each.team,
        agent_type=each.role,
        created_at=each.since,
        state=each.state,
    )
