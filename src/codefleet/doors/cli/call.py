"""What the commands share: opening the fleet, the --json option, and task arguments."""

import asyncio
import gc
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from codefleet.config import fleet_home
from codefleet.domain.errors import FleetError, StoreTrouble
from codefleet.doors.cli.commands import AT_A_DISTANCE
from codefleet.ports import TaskQuery

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from codefleet.domain.access import Right
    from codefleet.fleet import Fleet

T = TypeVar("T")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def home() -> Path:
    """The fleet's home for this command."""
    folder: Path = click.get_current_context().find_root().obj
    return folder


def call(verb: "Callable[[Fleet], Awaitable[T]]", *, create: bool = False) -> T:
    """Open the fleet, do one thing with it, close it."""
    return asyncio.run(_with_fleet(server() or home(), verb, create=create, here=home()))


def look(verb: "Callable[[Fleet], Awaitable[T]]") -> T:
    """The same for reading only: a broken settings file is just a warning."""
    return asyncio.run(_with_fleet(server() or home(), verb, warn=_warn, here=home()))


def server() -> str | None:
    """The address of the server that this command asks, if it asks one."""
    root = click.get_current_context().find_root()
    asked: str | None = root.params.get("server")
    return asked if root.invoked_subcommand in AT_A_DISTANCE else None


async def _with_fleet(
    folder: Path | str,
    verb: "Callable[[Fleet], Awaitable[T]]",
    *,
    create: bool = False,
    warn: Callable[[str], None] | None = None,
    here: Path | None = None,
) -> T:
    from codefleet.wiring import open_fleet  # here, so that `--help` need not load a store

    async with open_fleet(folder, create=create, warn=warn, here=here) as fleet:
        gc.freeze()  # everything is loaded: collect garbage from here on, but not in modules
        gc.enable()
        return await verb(fleet)


def refuse_agents(right: "Right") -> None:
    """Ask the core about what works without a store, when the store cannot tell who calls."""
    from codefleet import callers
    from codefleet.domain import access

    if run := callers.below(home()):
        access.refuse(access.AgentOf(run=run), right)
    elif callers.tags() or callers.own_mark():
        with suppress(StoreTrouble):  # without a store there is no fleet it could belong to
            call(lambda fleet: fleet.permit(right))


def say(words: str) -> None:
    """Print a message for the user to stderr; stdout is for data."""
    click.echo(words, err=True)


def _warn(words: str) -> None:
    from codefleet.doors.cli.text import clean

    say(clean(f"warning: {words}"))


def coder_exists(name: str) -> None:
    """Refuse the name of a coder that is not installed, before it costs a run."""
    from codefleet.coders.registry import refuse_unknown  # here: finding plug-ins takes time

    refuse_unknown(name)


def complete_task(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Matching task ids for the shell, which asks before the program's own callback runs."""
    from click.shell_completion import CompletionItem

    named = ctx.find_root().params.get("home")
    folder = Path(named) if named else fleet_home(os.environ)
    query = TaskQuery(limit=500, newest_first=True)
    try:
        tasks = asyncio.run(
            _with_fleet(folder, lambda fleet: fleet.list(query), warn=lambda _: None)
        )
    except (FleetError, OSError):
        return []
    return [CompletionItem(t.id, help=t.title) for t in tasks if t.id.startswith(incomplete)]


task_argument = click.argument("task", shell_complete=complete_task)
optional_task = click.argument("task", required=False, shell_complete=complete_task)
