"""`fleet serve`: the fleet behind one address."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codefleet.config.private import make_folder, open_text
from codefleet.domain.errors import BadConfig, NotFound, WorkspaceTrouble
from codefleet.doors.cli import kinds
from codefleet.doors.cli.call import call, home, say

if TYPE_CHECKING:
    from types import ModuleType

    from codefleet.doors.tools import Tools
    from codefleet.fleet import Fleet
    from codefleet.runner.loop import Loop

LIBRARIES = ("prometheus_client", "starlette", "uvicorn", "websockets")
READY_S = 30.0
STOPPED_S = 30.0
LOOK_AGAIN_S = 0.05


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=3847,
    show_default=True,
    envvar="PORT",
    help="The port; 0 picks a free one.",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="Another host name under which clients may call, such as that of a proxy.",
)
@click.option(
    "--agents",
    type=kinds.seats,
    metavar="N|MIN..MAX",
    help="Also work the queue, with this many agents.",
)
@click.option("--public-metrics", is_flag=True, help="Show /metrics to everybody, without a token.")
@click.option("--background", is_flag=True, help="Start it in the background and return.")
@click.option("--status", is_flag=True, help="Show where the fleet is served.")
@click.option("--stop", is_flag=True, help="Stop the server; agents at work go on.")
def serve(
    host: str,
    port: int,
    names: tuple[str, ...],
    agents: tuple[int | None, int] | None,
    public_metrics: bool,
    background: bool,
    status: bool,
    stop: bool,
) -> None:
    """Serve the fleet over HTTP: an API with a live stream of events.

    Clients need a token; that of the owner is in the home. Ctrl-C lets requests finish and tells
    streams to come back later. Agents go on working under their keepers.
    """
    if background + status + stop > 1:
        raise click.UsageError("use only one of --background, --status and --stop")
    serving = served_modules()
    if status:
        click.echo(_living(serving).url)
    elif stop:
        _stop(serving)
    elif background:
        _start(serving, sys.argv[1:])
    else:
        address = serving.serve.Address(host, port, names)

        async def work(fleet: "Fleet") -> None:
            async with _loop(fleet, agents) as loop, _tools(fleet) as tools:
                await serving.serve.serve(
                    *(fleet, address, say), loop=loop, more=tools, public_metrics=public_metrics
                )

        call(work, create=True)


@asynccontextmanager
async def _loop(
    fleet: "Fleet", seats: tuple[int | None, int] | None
) -> "AsyncIterator[Loop | None]":
    """The runner that works the queue beside the server, if it has seats."""
    if seats is None:
        yield None
        return
    from codefleet.doors.agent_tools import offered
    from codefleet.runner.context import Context
    from codefleet.runner.loop import Loop

    least, most = seats
    context = Context(fleet, {"agents": most})
    async with offered(context):
        yield Loop(context, agents=most, least=least)


@asynccontextmanager
async def _tools(fleet: "Fleet") -> "AsyncIterator[Mapping[str, Tools]]":
    """The fleet's tools for clients, with the path where they are; none without their library."""
    if not find_spec("mcp"):
        yield {}
        return
    from codefleet.doors.tools import PATH, Tools

    tools = Tools(fleet)
    try:
        yield {PATH: tools}
    finally:
        await tools.close()


def _living(serving: "ModuleType"):  # type: ignore[no-untyped-def]
    found = serving.record.living(home())
    if found is None:
        raise NotFound("this fleet is not being served", hint="`fleet serve` serves it")
    return found


def _stop(serving: "ModuleType") -> None:
    found = _living(serving)
    found.process.send(signal.SIGTERM)
    bound = time.monotonic() + STOPPED_S
    while found.process.is_alive:
        if time.monotonic() > bound:
            raise WorkspaceTrouble(
                f"the server (process {found.pid}) does not stop", hint=f"kill -9 {found.pid}"
            )
        time.sleep(LOOK_AGAIN_S)
    say(f"stopped; it served at {found.url}")


def _start(serving: "ModuleType", arguments: list[str]) -> None:
    """Start the same command without --background, and wait until it listens."""
    if other := serving.record.living(home()):
        say(f"this fleet is already served at {other.url}")
        return
    log = home() / "logs" / "server.log"
    make_folder(log.parent)
    rest = [word for word in arguments if word != "--background"]
    with open_text(log, os.O_CREAT | os.O_APPEND) as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "codefleet", *rest],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    bound = time.monotonic() + READY_S
    while child.poll() is None and time.monotonic() < bound:
        found = serving.record.living(home())
        if found and found.pid == child.pid:
            click.echo(found.url)
            return
        time.sleep(LOOK_AGAIN_S)
    raise WorkspaceTrouble("the server did not start", hint=f"see the end of {_shown(log)}")


def _shown(file: Path) -> str:
    return str(file)


def served_modules() -> "ModuleType":
    """The server's modules, or the advice to install their libraries."""
    try:
        from codefleet.doors import http
        from codefleet.doors.http import record, serve  # noqa: F401
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] not in LIBRARIES:
            raise
        raise BadConfig(
            "the server's libraries are not installed",
            hint="install them with codefleet: pip install '.[server]' in its clone",
        ) from None
    return http
