"""Keep the token of a server, so that its fleet can be commanded from here."""

import asyncio
import sys

import click

from codefleet.doors.cli.call import home, say
from codefleet.fleet.logins import keep_login


@click.command()
@click.argument("url")
@click.option("--forget", is_flag=True, help="Remove the token instead.")
def login(url: str, forget: bool) -> None:
    """Keep the token of a server, read from a terminal or from stdin.

    \b
    fleet login http://fleet.example.org:3847 < token
    fleet --server http://fleet.example.org:3847 status
    """
    if forget:
        keep_login(home(), url, None)
        say(f"there is no token for {url} any more")
        return
    token = click.prompt("token", hide_input=True) if sys.stdin.isatty() else sys.stdin.read()
    asyncio.run(_tried(url, token.strip()))
    keep_login(home(), url, token.strip())
    say(f"logged in at {url}")


async def _tried(url: str, token: str) -> None:
    """Refuse a token that the server does not accept."""
    from codefleet.api.remote import open_remote
    from codefleet.config.settings import DEFAULT

    async with open_remote(url, token, home(), DEFAULT):
        pass
