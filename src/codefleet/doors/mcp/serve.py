"""How a server is reached: over standard input and output, or as a web application."""

import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from starlette.types import ASGIApp

from codefleet.domain.access import HUMAN, NO_TOKEN, OWNER, Holder
from codefleet.domain.errors import Refused
from codefleet.domain.words import Role
from codefleet.doors.mcp.server import Door, assemble
from codefleet.doors.mcp.shared import ANY_HOST
from codefleet.doors.mcp.toolset import AGENT_NAME, ServerContext
from codefleet.fleet import Fleet, logins
from codefleet.fleet.viewer import HUMAN_HANDLE, handle

TEAM = "CLAUDE_FLEET_TEAM"


async def over_stdio(fleet: Fleet, toolsets: Sequence[str], token: str | None) -> None:
    """Serve the client that started us until it closes our input; a `token` is that of a run."""
    # An empty token is invalid, not absent: it must not grant full access.
    known = await _member(fleet) if token is None else await fleet.with_token(token)
    await (await _door(known, toolsets)).run_stdio_async()


async def http_app(fleet: Fleet, toolsets: Sequence[str]) -> ASGIApp:
    """The tools as a web application, at `/mcp`, for whoever may use them as the owner."""
    owner = fleet.acting_as(OWNER) if fleet.actor == HUMAN else fleet
    door = await _door(owner, toolsets)
    return door.streamable_http_app(transport_security=ANY_HOST)


def bound_to(file: Path) -> str:
    """The token of a run, from the file that its agent was given."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise Refused(
            f"cannot read the token of a run in {file}", hint="agents get that file from the fleet"
        ) from None


async def _member(fleet: Fleet) -> Fleet:
    """The member of the team that the client's environment names.

    Its role is that of the token, if there is one. Without a token it is the local human, who may
    do everything anyway, as the lead of that team.
    """
    named = os.environ.get(TEAM)
    if not named or fleet.actor != HUMAN:
        return fleet
    team = (await fleet.team(named)).name
    if token := os.environ.get(logins.VARIABLE):
        return await _holder_of(token, team, fleet)
    name = handle(os.environ.get(AGENT_NAME) or HUMAN_HANDLE)
    lead = Holder(token=NO_TOKEN, handle=name, team=team, role=Role.TEAM_LEAD)
    return fleet.acting_as(lead)


async def _holder_of(token: str, team: str, fleet: Fleet) -> Fleet:
    known = await fleet.with_token(token)
    if not (isinstance(known.actor, Holder) and known.actor.team == team):
        raise Refused(
            f"the token in {logins.VARIABLE} is not of the team {team}",
            hint=f"unset {logins.VARIABLE} or {TEAM}, or set one that fits the other",
        )
    return known


async def _door(fleet: Fleet, toolsets: Sequence[str]) -> Door:
    context = ServerContext(fleet)
    await context.ensure_runner()
    return assemble(context, toolsets, version("codefleet"))
