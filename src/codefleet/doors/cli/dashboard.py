"""`fleet dashboard`: the page of the server at work, signed in."""

import os
import sys
import webbrowser
from typing import TYPE_CHECKING

import click

from codefleet.domain.errors import NotFound
from codefleet.doors.cli.call import call, home, say
from codefleet.served import Record, browser_address, living

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


@click.command()
@click.option("--print", "only_print", is_flag=True, help="Only print the address.")
def dashboard(only_print: bool) -> None:
    """Open the dashboard of this fleet's server in a browser.

    The printed address signs one browser in, once and within five minutes.
    """
    found = living(home(), Record)
    if found is None:
        raise NotFound("this fleet is not being served", hint="`fleet serve` serves it")

    async def make(fleet: "Fleet") -> str:
        return await fleet.sign_in_code()

    address = browser_address(found.url, call(make))
    click.echo(address)
    if not only_print and _has_screen() and not webbrowser.open(address):
        say("no browser was found; open the address yourself")


def _has_screen() -> bool:
    return sys.platform == "darwin" or any(os.environ.get(name) for name in SCREENS)
