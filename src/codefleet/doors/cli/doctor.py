"""Check everything a fleet needs."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, home, json_option, server
from codefleet.doors.cli.text import clean
from codefleet.runner import verbs
from codefleet.runner.doctor.findings import Finding
from codefleet.runner.elsewhere import elsewhere

if TYPE_CHECKING:
    from codefleet.fleet import Fleet


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Check everything a fleet needs; the exit code is 1 if something must be fixed.

    It asks each agent program for its version, its flags and its login, which uses no tokens.
    """
    findings = call(_there) if server() else asyncio.run(verbs.doctor(home()))
    if as_json:
        show.data([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            click.echo(_line(finding))
    if any(finding.stops_the_fleet for finding in findings):
        click.get_current_context().exit(1)


async def _there(fleet: "Fleet") -> Sequence[Finding]:
    there = elsewhere(fleet)
    return await there.doctor() if there else ()


def _line(finding: Finding) -> str:
    if not finding.mend:
        return f"{click.style('ok', fg='green')}    {clean(finding.what)}"
    mark = click.style("fix ", fg="red") if finding.must else click.style("note", fg="yellow")
    return f"{mark}  {clean(finding.what)}\n      -> {clean(finding.mend)}"
