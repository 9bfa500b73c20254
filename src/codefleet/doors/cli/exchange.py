"""Move a whole fleet: export, import."""

from typing import TYPE_CHECKING

import click

from codefleet.domain.errors import Refused
from codefleet.doors.cli.call import call, say
from codefleet.doors.cli.drafts import read_text
from codefleet.doors.cli.text import count

if TYPE_CHECKING:
    from codefleet.fleet import Fleet


@click.command()
@click.argument("file", metavar="FILE|-")
def export(file: str) -> None:
    """Write every task, run and event as JSON lines."""

    async def write(fleet: "Fleet") -> int:
        lines = 0
        async for line in fleet.export():
            target.write(line + "\n")
            lines += 1
        return lines

    try:
        with click.open_file(file, "x", encoding="utf-8") as target:
            lines = call(write)
    except FileExistsError:
        hint = "choose another name, or remove it first"
        raise Refused(f"{file} exists already", hint=hint) from None
    say(f"{count(lines, 'line')} written")


@click.command("import")
@click.argument("file", metavar="FILE|-")
def import_(file: str) -> None:
    """Take in what `fleet export` wrote, all or none, into an empty fleet."""
    lines = read_text(file).split("\n")  # a text may hold what Unicode calls an end of line too
    say(f"{count(call(lambda fleet: fleet.load(lines), create=True), 'line')} read")
