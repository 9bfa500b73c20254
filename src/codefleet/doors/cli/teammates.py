"""A team as claude-fleet's commands show it: `fleet teams TEAM`, `fleet tasks TEAM`."""

from typing import TYPE_CHECKING

import click

from codefleet.domain.teammate import Teammate, teammates
from codefleet.doors.cli import show
from codefleet.doors.cli.call import json_option, look, say
from codefleet.doors.cli.tasks import Listed, limit_option, tell
from codefleet.doors.cli.text import clean, local, table
from codefleet.ports import TaskQuery

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

HEADINGS = ("HANDLE", "ROLE", "STATE", "SINCE")

team_argument = click.argument("team")


@click.command("teams")
@team_argument
@json_option
def teams(team: str, as_json: bool) -> None:
    """Show who is in a team: its members, and its workers, with what they do."""

    async def read(fleet: "Fleet") -> list[Teammate]:
        return teammates(team, await fleet.members(team), await fleet.workers())

    found = look(read)
    if as_json:
        show.data([{**each.plain(), "uid": each.uid} for each in found])
    elif found:
        click.echo(table(HEADINGS, [_row(each) for each in found], stretch=(0,)))
    else:
        say(f"nobody is in {clean(team)} yet; `fleet team invite {clean(team)}` lets members join")


@click.command("tasks")
@team_argument
@limit_option
@json_option
def tasks(team: str, limit: int, as_json: bool) -> None:
    """Show the tasks of a team, finished ones too; the newest first."""

    async def read(fleet: "Fleet") -> Listed:
        await fleet.team(team)
        found = await fleet.list(TaskQuery(team=team, newest_first=True, limit=limit))
        return Listed(found, await fleet.why(found), len(await fleet.repos()))

    tell(look(read), as_json)


def _row(each: Teammate) -> tuple[str, ...]:
    state = show.state(each.state) if each.state else ""
    return each.handle, str(each.role), state, local(each.since)
