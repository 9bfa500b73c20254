"""`POST /auth`: whoever knows the secret of an invite joins its team and gets a token."""

from codefleet.domain.noun import Noun
from codefleet.domain.team import uid
from codefleet.domain.words import Role
from codefleet.fleet import Fleet


class Admitted(Noun, rename="camel"):
    """A new member of a team, and the token that it sends from now on."""

    uid: str
    handle: str
    team_name: str
    agent_type: Role
    token: str


async def auth(
    fleet: Fleet, handle: str, team_name: str, secret: str, agent_type: Role | None = None
) -> Admitted:
    """Join a team with the secret that `fleet team invite` printed.

    The role is that of the invite, whatever `agentType` says.
    """
    issued = await fleet.join(team_name, handle, secret)
    return Admitted(
        uid=uid(team_name, handle),
        handle=handle,
        team_name=team_name,
        agent_type=issued.token.role,
        token=issued.text,
    )
