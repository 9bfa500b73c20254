"""Teams: create, list, show, invite, withdraw, remove."""

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import click

from codefleet.domain.model import Invite, Member, Team
from codefleet.domain.words import Role
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, json_option, look, say
from codefleet.doors.cli.groups import Subcommands
from codefleet.doors.cli.kinds import how_many, span
from codefleet.doors.cli.text import clean, count, local, table

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

name_argument = click.argument("name", metavar="TEAM")
role_option = click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    default=Role.WORKER.value,
    show_default=True,
    help="What the member may do.",
)


class Shown(NamedTuple):
    """A team, its members, and the invites that can still be used."""

    team: Team
    members: list[Member]
    invites: list[Invite]


@click.group(cls=Subcommands, invoke_without_command=True)
@click.pass_context
def team(ctx: click.Context) -> None:
    """Let several teams share the fleet; none sees the work of another."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@team.command()
@name_argument
@click.option(
    "--repo", "repos", multiple=True, metavar="NAME", help="It may use only this; repeatable."
)
@json_option
def create(name: str, repos: tuple[str, ...], as_json: bool) -> None:
    """Create a team."""
    made = call(lambda fleet: fleet.create_team(name, repos))
    if as_json:
        show.noun(made)
    else:
        say(f"{made.name} is a team now; `fleet team invite {made.name}` lets members join")


@team.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List all teams."""
    found = look(lambda fleet: fleet.teams())
    if as_json:
        show.nouns(found)
    elif found:
        click.echo(table(("TEAM", "REPOS"), [(it.name, _repos(it)) for it in found], stretch=(1,)))
    else:
        say("no team yet; `fleet team create NAME` creates one")


@team.command("show")
@name_argument
@json_option
def show_(name: str, as_json: bool) -> None:
    """Show a team: its members, and the invites that can still be used."""
    found = look(lambda fleet: _read(fleet, name))
    if as_json:
        members = [{**each.plain(), "uid": each.uid} for each in found.members]
        invites = [_public(each) for each in found.invites]
        show.data({**found.team.plain(), "members": members, "invites": invites})
        return
    click.echo(f"{found.team.name}  repos: {_repos(found.team)}")
    if found.members:
        rows = [(it.handle, str(it.role), local(it.joined_at)) for it in found.members]
        click.echo(table(("HANDLE", "ROLE", "JOINED"), rows, stretch=(0,)))
    if found.invites:
        open_ = [(it.id, str(it.role), str(it.uses), local(it.expires_at)) for it in found.invites]
        click.echo(table(("INVITE", "ROLE", "USES", "EXPIRES"), open_, stretch=(0,)))


@team.command()
@name_argument
@role_option
@click.option(
    "--uses",
    type=how_many,
    metavar="N",
    default=1,
    show_default=True,
    help="How many may join with it.",
)
@click.option(
    "--expires", type=span, metavar="TIME", default="24h", show_default=True, help="30m, 24h, 7d."
)
@json_option
def invite(name: str, role: str, uses: int, expires: timedelta, as_json: bool) -> None:
    """Print a secret with which others can join a team; it is shown only once."""
    made, secret = call(lambda fleet: fleet.invite(name, Role(role), uses=uses, ttl=expires))
    if as_json:
        show.data({**_public(made), "secret": secret})
        return
    click.echo(secret)
    say(
        f"{made.id} lets {count(made.uses, 'member')} join {made.team} as {made.role} "
        f"until {local(made.expires_at)}"
    )


@team.command()
@click.argument("invite_id", metavar="INVITE")
@json_option
def withdraw(invite_id: str, as_json: bool) -> None:
    """Let nobody join with this invite any more."""
    gone = call(lambda fleet: fleet.withdraw_invite(invite_id))
    if as_json:
        show.data(_public(gone))
    else:
        say(f"nobody can join {gone.team} with {gone.id} any more")


@team.command()
@name_argument
@json_option
def remove(name: str, as_json: bool) -> None:
    """Remove a team whose tasks are all finished, and revoke its tokens."""
    gone = call(lambda fleet: fleet.remove_team(name))
    if as_json:
        show.noun(gone)
    else:
        say(f"{clean(gone.name)} is gone, and its tokens are no longer valid")


async def _read(fleet: "Fleet", name: str) -> Shown:
    return Shown(await fleet.team(name), [*await fleet.members(name)], [*await fleet.invites(name)])


def _repos(team: Team) -> str:
    return ", ".join(team.repos) or "all"


def _public(invite: Invite) -> dict[str, object]:
    """An invite without the hash of its secret."""
    return {name: value for name, value in invite.plain().items() if name != "secret_hash"}
