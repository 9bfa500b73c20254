"""Checkpoints: show those of an agent."""

import click

from codefleet.domain.model import Checkpoint
from codefleet.doors.cli import show
from codefleet.doors.cli.call import json_option, look, say
from codefleet.doors.cli.text import brief, clean, local, table

HEADINGS = ("CHECKPOINT", "AT", "FROM", "TO", "STATUS", "GOAL", "NOW")


@click.command()
@click.argument("handle")
@click.option("--status", metavar="STATUS", help="Only pending, accepted or rejected ones.")
@json_option
def checkpoints(handle: str, status: str | None, as_json: bool) -> None:
    """Show what an agent wrote down for those who go on, and what was left for it."""
    found = look(lambda fleet: fleet.checkpoints(handle, status=status))
    if as_json:
        show.nouns(found)
    elif found:
        click.echo(table(HEADINGS, [_row(each) for each in found], stretch=(5, 6)))
    else:
        say(f"no checkpoints of {clean(handle)}")


def _row(it: Checkpoint) -> tuple[str, ...]:
    who = (it.author, it.to or "")
    return it.id, local(it.created_at), *who, it.status, brief(it.goal), brief(it.now)
