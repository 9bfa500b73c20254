"""The server process: listen, answer until told to stop, then let every request finish."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

import uvicorn
from starlette.types import ASGIApp

from codefleet.domain.errors import FleetError
from codefleet.doors.http import record
from codefleet.doors.http.app import App
from codefleet.doors.http.gate import Doorkeeper
from codefleet.doors.http.page import Page
from codefleet.doors.network import hosts, listen, shown, uvicorn_config
from codefleet.fleet import Fleet
from codefleet.fleet.tokens import owner_token_file
from codefleet.served import browser_address

if TYPE_CHECKING:
    from codefleet.runner.loop import Loop

Say = Callable[[str], None]
STOPS = (signal.SIGINT, signal.SIGTERM)
DRAIN_S = 10
FORGET_S = 3600.0


class Address(NamedTuple):
    """Where to listen, and under which other names clients may call."""

    host: str
    port: int
    names: Sequence[str] = ()


class Server(uvicorn.Server):
    """Tells the streams that it stops, so that it can wait for all connections to end."""

    def __init__(self, app: App, config: uvicorn.Config, before_exit: Callable[[], None]) -> None:
        super().__init__(config)
        self._app, self._before_exit = app, before_exit

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Heed signals without being killed by them at the end: a stop is no failure."""
        loop = asyncio.get_running_loop()
        for number in STOPS:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in STOPS:
                loop.remove_signal_handler(number)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.hub.drain()
        self._before_exit()
        super().handle_exit(sig, frame)


async def serve(
    fleet: Fleet,
    address: Address,
    say: Say,
    *,
    loop: "Loop | None" = None,
    more: Mapping[str, ASGIApp] | None = None,
    public_metrics: bool = False,
) -> None:
    """Serve this fleet until a signal comes; a `loop` works its queue meanwhile.

    `more` are other applications, each with its path.
    """
    with record.only_server(fleet.home):
        listener = listen(address.host, address.port)
        app = App(fleet, more, public_metrics=public_metrics)
        await _serve(app, fleet, address, listener, say, loop)


async def _serve(
    app: App,
    fleet: Fleet,
    address: Address,
    listener: socket.socket,
    say: Say,
    loop: "Loop | None",
) -> None:
    host, port = listener.getsockname()[:2]
    guarded = Doorkeeper(Page(app), hosts(host, port, address.names))
    config = uvicorn_config(guarded, drain_s=DRAIN_S)
    url = f"http://{shown(host)}:{port}"
    record.write(fleet.home, url)
    _announce(fleet.home, host, url, say)
    say(f"open {browser_address(url, await fleet.sign_in_code())}")
    server = Server(app, config, loop.leave if loop else lambda: None)
    beside = [asyncio.create_task(_forget_receipts(fleet))]
    if loop:
        beside.append(asyncio.create_task(loop.run()))
    try:
        async with app.running():
            await server.serve(sockets=[listener])
    finally:
        beside[0].cancel()
        await asyncio.gather(*beside, return_exceptions=True)


def _announce(home: Path, host: str, url: str, say: Say) -> None:
    say(f"serving at {url}; the token is in {owner_token_file(home)}")
    if not ip_address(host).is_loopback:
        say("this address is reachable from outside: everyone there needs a token")


async def _forget_receipts(fleet: Fleet) -> None:
    """Remove old receipts now and then."""
    while True:
        with suppress(FleetError):  # the store may be away
            await fleet.forget_receipts()
        await asyncio.sleep(FORGET_S)
