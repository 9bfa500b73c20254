"""`fleet mcp`: the fleet as tools for any agent or editor that speaks MCP."""

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codefleet.domain.errors import BadConfig
from codefleet.doors.cli.call import call, say
from codefleet.runner.brief.own_tools import recall_settings

if TYPE_CHECKING:
    from types import ModuleType

    from codefleet.fleet import Fleet

DEFAULT = "workers,workflows,commander"
LIBRARIES = ("mcp", "mcp_types", "pydantic", "starlette", "uvicorn")  # all come with the first


@click.command()
@click.option(
    "--toolsets",
    default=DEFAULT,
    show_default=True,
    help="Which toolsets, separated by commas; there are also team and agent.",
)
@click.option("--http", is_flag=True, help="Serve over HTTP instead of stdin and stdout.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http: the address.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="With --http: the port; 0 picks one."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    envvar="FLEET_TOKEN_FILE",
    help="The token of a run: every call acts as that run.",
)
def mcp(toolsets: str, http: bool, host: str, port: int, token_file: Path | None) -> None:
    """Offer the fleet as tools to any agent or editor that speaks MCP.

    Over stdin and stdout, the client starts it: claude mcp add codefleet -- codefleet. It starts a
    runner in the background if there is work and none is running. Agents and the runner keep
    running when the client exits.
    """
    if http and token_file:
        raise click.UsageError("--token-file is for stdin and stdout; --http has its own token")
    serve = _serving()
    names = [name.strip() for name in toolsets.split(",") if name.strip()]
    if token_file:
        recall_settings(token_file)

    async def work(fleet: "Fleet") -> None:
        if http:
            from codefleet.doors import mcp_server  # imported here: stdio needs no server

            await mcp_server.serve(fleet, names, host, port, say)
        else:
            token = serve.bound_to(token_file) if token_file else None
            await serve.over_stdio(fleet, names, token)

    call(work, create=True)


def is_called_by_a_client() -> bool:
    """Is our stdin a pipe or a socket, as when an MCP client starts its server?

    With a terminal, a file or /dev/null, a human wants to see the help.
    """
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _serving() -> "ModuleType":
    try:
        from codefleet.doors.mcp import serve
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] not in LIBRARIES:
            raise
        raise BadConfig(
            "the MCP library is not installed",
            hint="install it alongside codefleet: pip install 'mcp>=2.3,<3'",
        ) from None
    return serve
