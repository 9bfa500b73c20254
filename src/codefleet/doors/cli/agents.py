"""Every seat on every machine."""

from datetime import datetime

import click

from codefleet.domain.views import Agent
from codefleet.doors.cli import show
from codefleet.doors.cli.call import json_option, look
from codefleet.doors.cli.text import clean, duration, table

HEADINGS = ("AGENT", "STATE", "HOST", "TASK", "CODER", "SEEN", "LOAD", "FREE")


@click.command()
@json_option
def agents(as_json: bool) -> None:
    """Show all agents: what each one is doing, and how busy its machine is.

    SEEN is the time since its runner's last heartbeat; after longer than its lease, the agent is
    offline. LOAD is the one-minute load average per processor: above 1, processes wait. FREE is
    free memory.
    """
    crew = look(lambda fleet: fleet.crew())
    if as_json:
        show.nouns(crew.seats)
        return
    if crew.seats:
        click.echo(table(HEADINGS, [_row(each, crew.at) for each in crew.seats], stretch=(2,)))
    if crew.standing_by:
        click.echo(show.standing_by(crew.standing_by))
    elif not crew.seats:
        click.echo("no agents; `fleet run` starts some")


def _row(agent: Agent, now: datetime) -> tuple[str, ...]:
    return (
        agent.name,
        show.state(agent.state),
        clean(agent.host),
        agent.task or "",
        agent.coder or "",
        duration((now - agent.seen_at).total_seconds()),
        f"{agent.load:.2f}",
        f"{agent.memory_free_mb:,} MB",
    )
