"""Tokens of members: create, list, revoke, rotate."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

from codefleet.domain.model import Token
from codefleet.domain.words import Role
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, json_option, look, say
from codefleet.doors.cli.groups import Subcommands
from codefleet.doors.cli.kinds import span
from codefleet.doors.cli.team import role_option
from codefleet.doors.cli.text import local, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codefleet.fleet import Fleet

HEADINGS = ("TOKEN", "MEMBER", "ROLE", "STATE", "EXPIRES")


@click.group(cls=Subcommands, invoke_without_command=True)
@click.pass_context
def token(ctx: click.Context) -> None:
    """Tokens with which members of a team reach the fleet."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@token.command()
@click.argument("team", metavar="TEAM")
@click.argument("handle")
@role_option
@click.option("--expires", type=span, metavar="TIME", help="30m, 24h, 7d; default: token_ttl.")
@json_option
def create(team: str, handle: str, role: str, expires: timedelta | None, as_json: bool) -> None:
    """Print a token for a member of a team, who joins it if necessary; it is shown only once."""
    made = call(lambda fleet: fleet.create_token(team, handle, Role(role), ttl=expires))
    if as_json:
        show.data({**made.token.plain(), "text": made.text})
        return
    click.echo(made.text)
    it = made.token
    say(f"{it.id} is for {it.handle}@{it.team} as {it.role} until {local(it.expires_at)}")


@token.command("list")
@click.argument("team", metavar="[TEAM]", required=False)
@json_option
def list_(team: str | None, as_json: bool) -> None:
    """List the tokens of a team, or of all."""

    async def read(fleet: "Fleet") -> "tuple[datetime, Sequence[Token]]":
        return await fleet.now(), await fleet.tokens(team)

    now, found = look(read)
    if as_json:
        show.nouns(found)
    elif found:
        click.echo(table(HEADINGS, [_row(each, now) for each in found], stretch=(1,)))
    else:
        say("no token yet; `fleet token create TEAM HANDLE` creates one")


@token.command()
@click.argument("token_id", metavar="TOKEN")
@json_option
def revoke(token_id: str, as_json: bool) -> None:
    """Make a token invalid at once, by its id."""
    gone = call(lambda fleet: fleet.revoke_token(token_id))
    if as_json:
        show.noun(gone)
    else:
        say(f"{gone.id} of {gone.handle}@{gone.team} is no longer valid")


@token.command()
@json_option
def rotate(as_json: bool) -> None:
    """Sign new tokens with a new key.

    Tokens signed with the last key stay valid until the next rotation; those of older keys do not.
    """
    key = call(lambda fleet: fleet.rotate_keys())
    if as_json:
        show.data({"key": key})
    else:
        say(f"new tokens are signed with the key {key}")


def _row(token: Token, now: datetime) -> tuple[str, ...]:
    state = "revoked" if token.revoked_at else "valid" if token.is_valid(now) else "expired"
    member = f"{token.handle}@{token.team}"
    return (token.id, member, str(token.role), state, local(token.expires_at))
