"""Move a whole fleet from one store to another."""

import asyncio
import os
from typing import TYPE_CHECKING

import click

from codefleet.config import Config, load
from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid
from codefleet.doors.cli.call import home, refuse_agents, say
from codefleet.doors.cli.secret_text import secret_text
from codefleet.doors.cli.text import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codefleet.fleet.migration import Sum


@click.command()
@click.option(
    "--from", "source", metavar="ADDRESS|@FILE", help="The old store; default: the one in use."
)
@click.option(
    "--to", "target", metavar="ADDRESS|@FILE|-", required=True, help="The new, empty store."
)
def migrate(source: str | None, target: str) -> None:
    """Copy a whole fleet to another store and compare the two.

    Stop all runners first. The old store is not changed; afterwards, set which one to use. To keep
    a password out of sight, read the address from a file (`@FILE`) or from stdin (`-`).

    \b
    fleet migrate --to postgresql://fleet@db.example.com/fleet
    fleet config set store postgresql://fleet@db.example.com/fleet
    """
    refuse_agents(Right.RESET)
    target, source = secret_text(target), source and secret_text(source)
    config = load(home(), env=os.environ)
    old = config.evolve(store=source) if source is not None else config
    if old.store == target:
        raise Invalid("both addresses are the same", hint="name the new store with --to")
    for kind, found in asyncio.run(_migrated(old, config.evolve(store=target))).items():
        click.echo(f"{count(found.many, kind)}  sha256 {found.hash[:16]}")
    say("everything was copied, and both stores are the same")


async def _migrated(old: Config, new: Config) -> "Mapping[str, Sum]":
    from codefleet.fleet import Fleet
    from codefleet.fleet.core import Core
    from codefleet.fleet.migration import migrate
    from codefleet.runner import peers
    from codefleet.wiring import LocalChecks, open_store

    source = await open_store(old, home(), create=False)
    try:
        target = await open_store(new, home(), create=True)
        try:
            fleet = Fleet(Core(source, old, home(), LocalChecks()))
            return await migrate(fleet, target, dead=await peers.dead_runner_ids(fleet), tell=say)
        finally:
            await target.close()
    finally:
        await source.close()
