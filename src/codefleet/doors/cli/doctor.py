"""Check everything a fleet needs."""

import asyncio

import click

from codefleet.doors.cli import show
from codefleet.doors.cli.call import home, json_option
from codefleet.doors.cli.text import clean
from codefleet.runner.checkup import checkup
from codefleet.runner.finding import Finding


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Check everything a fleet needs; the exit code is 1 if something must be fixed.

    It asks each agent program for its version, its flags and its login, which uses no tokens.
    """
    findings = asyncio.run(checkup(home()))
    if as_json:
        show.data([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            click.echo(_line(finding))
    if any(finding.stops_the_fleet for finding in findings):
        click.get_current_context().exit(1)


def _line(finding: Finding) -> str:
    if not finding.mend:
        return f"{click.style('ok', fg='green')}    {clean(finding.what)}"
    mark = click.style("fix ", fg="red") if finding.must else click.style("note", fg="yellow")
    return f"{mark}  {clean(finding.what)}\n      -> {clean(finding.mend)}"
