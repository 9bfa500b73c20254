"""Verbs about teams and tokens, as HTTP writes them."""

from collections.abc import Sequence

from codefleet.domain.model import Invite, Team, Token
from codefleet.domain.moment import span
from codefleet.domain.noun import Count, Noun
from codefleet.domain.words import Role
from codefleet.fleet import Fleet


class Invited(Noun):
    """An invite, and the secret with which others join; it is told only once."""

    invite: Invite
    secret: str


class IssuedToken(Noun):
    """A token, and the text that its holder sends; it is told only once."""

    token: Token
    text: str


async def invite(fleet: Fleet, team: str, role: Role, uses: Count = 1, ttl: str = "1d") -> Invited:
    """An invite to a team with a role, and its secret, which is not stored."""
    made, secret = await fleet.invite(team, role, uses=uses, ttl=span(ttl))
    return Invited(invite=made, secret=secret)


async def create_token(
    fleet: Fleet, team: str, handle: str, role: Role, ttl: str | None = None
) -> IssuedToken:
    """A token for a member, who joins the team if necessary; a new role replaces the old one."""
    made = await fleet.create_token(team, handle, role, ttl=None if ttl is None else span(ttl))
    return IssuedToken(token=made.token, text=made.text)


async def invited(fleet: Fleet, made: Sequence[str]) -> Invited:
    """The invite that a request made, and its secret."""
    found, secret = await fleet.invite_again(made[0])
    return Invited(invite=found, secret=secret)


async def token_made(fleet: Fleet, made: Sequence[str]) -> IssuedToken:
    """The token that a request made, after the member if that is new, and its text."""
    again = await fleet.token_again(made[-1])
    return IssuedToken(token=again.token, text=again.text)


async def team_made(fleet: Fleet, made: Sequence[str]) -> Team:
    """The team that a request created."""
    return await fleet.team(made[0])
