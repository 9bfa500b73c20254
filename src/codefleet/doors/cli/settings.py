"""Settings: `fleet config show` and `fleet config set`."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click

from codefleet.config import FILE, KEYS, Config, RepoFile, load, toml, without_password
from codefleet.config.file import set_value
from codefleet.domain.access import Right
from codefleet.domain.errors import FleetError, NotFound
from codefleet.domain.model import Repo
from codefleet.doors.cli import show
from codefleet.doors.cli.call import home, json_option, refuse_agents, say
from codefleet.doors.cli.groups import Subcommands
from codefleet.doors.cli.repo_choice import repo_here
from codefleet.doors.cli.secret_text import secret_text
from codefleet.doors.cli.text import clean, table


@click.group(cls=Subcommands, invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> None:
    """Show or change settings."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@config.command("show")
@json_option
def show_(as_json: bool) -> None:
    """List every setting in effect here, and where its value comes from."""
    root = repo_here()
    own = asyncio.run(_own(root)) if root else Own()
    found = load(home(), repo=own.file, repo_name=own.name, env=os.environ)
    values = found.plain()
    for key in ("store", "store_direct"):
        values[key] = without_password(values[key])
    if as_json:
        show.data({key: {"value": values[key], "source": found.source(key)} for key in KEYS})
        return
    if own.differs:
        say(f"note: {root}/{FILE} differs from the one on the trunk, which is in effect")
    rows = [(key, clean(_shown(values[key])), clean(found.source(key))) for key in KEYS]
    click.echo(table(("SETTING", "VALUE", "FROM"), rows, stretch=(1, 2)))


@config.command("set", context_settings={"ignore_unknown_options": True})  # a value may be -3
@click.argument("key", shell_complete=lambda _c, _p, text: [k for k in KEYS if k.startswith(text)])
@click.argument("value")
@click.option("--repo", "in_repo", is_flag=True, help="Write it to the repository's own file.")
def set_(key: str, value: str, in_repo: bool) -> None:
    """Change a setting; an empty VALUE removes it.

    A store address with a password can be read from a file (`@FILE`) or from stdin (`-`).

    \b
    fleet config set agents 5
    fleet config set checks 'make test, make lint' --repo
    fleet config set coders.command.argv '["my-agent", "{prompt_file}"]'
    """
    refuse_agents(Right.CHANGE_SETTINGS)
    value = secret_text(value) if key in ("store", "store_direct") else value
    folder = repo_here() if in_repo else home()
    if folder is None:
        raise NotFound("there is no repository here", hint="change to one, or leave out --repo")
    from codefleet.runner.settings import refuse_unfit  # here: to load coders takes time

    refuse_unfit(home(), key, value)
    set_value(folder / FILE, key, value, in_repo=in_repo)
    say(f"{key} is {'set in' if value else 'removed from'} {folder / FILE}")
    if in_repo:
        say("it takes effect once it is committed to the trunk")
    _warn_of_stronger(key, load(home(), env=os.environ))


def _warn_of_stronger(key: str, config: Config) -> None:
    source = config.source(key)
    if source.startswith("FLEET_"):
        say(f"warning: the environment variable {source} overrides it here")


class Own(NamedTuple):
    """The current repository: its name in the fleet, and the settings file on its trunk."""

    name: str | None = None
    file: RepoFile | None = None
    differs: bool = False


async def _own(root: Path) -> Own:
    """Works even if the store cannot be opened, or does not know the repository."""
    from codefleet.runner.git import trunk_file
    from codefleet.wiring import open_fleet

    repo = Repo(name=root.name, path=str(root), trunk="")
    with suppress(FleetError):
        async with open_fleet(home()) as fleet:
            known = {each.path: each for each in await fleet.repos()}
            repo = known.get(str(root), repo)
    trunk = load(home(), env=os.environ).for_repo(repo.name).trunk or repo.trunk
    there = repo.evolve(trunk=trunk)
    if not trunk:
        return Own(repo.name, await trunk_file.at_commit(root, "HEAD"))
    found = await trunk_file.at_commit(root, there.trunk_ref)
    return Own(repo.name, found, await trunk_file.differs(there))


def _shown(value: object) -> str:
    return "-" if value is None else value if isinstance(value, str) else toml(value)
