"""Listening for HTTP: where, under which names, and how long for a request to be complete."""

import asyncio
import errno
import logging
import re
import socket
from collections.abc import Collection, Sequence
from ipaddress import ip_address
from typing import Any, Literal

import h11
import uvicorn
from starlette.types import ASGIApp, Message, Receive
from uvicorn.protocols.http.h11_impl import H11Protocol

from codefleet.domain.errors import WorkspaceTrouble

HEAD_S = 10.0
BODY_S = 30.0
BACKLOG = 1024
BUSY_CLIENTS = 10_000
USUAL_PORTS = (80, 443)


class Impatient(H11Protocol):
    """Closes a connection on which no complete request arrives in time.

    One timer per connection looks when patience ends; requests only move that moment.
    """

    _patient_until = 0.0
    _looking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()
        self._look()

    def data_received(self, data: bytes) -> None:
        was_asked = self._is_asked
        super().data_received(data)
        if was_asked or self._is_asked:
            self._wait()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._stop_looking()  # the connection is no longer ours
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_looking()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    @property
    def _is_asked(self) -> bool:
        """Is there an unanswered request?"""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._patient_until = self.loop.time() + HEAD_S

    def _look(self) -> None:
        if self.loop.time() >= self._patient_until:
            self._hang_up()
            self._wait()
        self._looking = self.loop.call_at(self._patient_until, self._look)

    def _stop_looking(self) -> None:
        if self._looking:
            self._looking.cancel()

    def _hang_up(self) -> None:
        if not self._is_asked:
            self.transport.close()


def bounded(receive: Receive) -> Receive:
    """The same request; if its whole body does not arrive in time, it counts as disconnected."""
    is_whole = False
    deadline = asyncio.get_running_loop().time() + BODY_S

    async def next_part() -> Message:
        nonlocal is_whole
        if is_whole:
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                part = await receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        is_whole = not part.get("more_body", False)
        return part

    return next_part


def uvicorn_config(
    app: ASGIApp, *, drain_s: int, lifespan: Literal["on", "off"] = "off"
) -> uvicorn.Config:
    """How every server of ours bounds its clients, and how long it lets them end."""
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # or each answer to who left is a line
    return uvicorn.Config(
        app,
        http=Impatient,
        log_level="error",
        access_log=False,
        lifespan=lifespan,
        timeout_graceful_shutdown=drain_s,
        limit_concurrency=BUSY_CLIENTS,
        ws_max_size=1 << 20,
        ws_per_message_deflate=False,  # each event is small, and would be compressed per client
        server_header=False,
        proxy_headers=False,  # anybody can write them, and addresses count against guesses
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 is any free one."""
    try:
        listener = _bound(host, port)
    except OSError as reason:
        is_host = isinstance(reason, socket.gaierror) or reason.errno == errno.EADDRNOTAVAIL
        raise WorkspaceTrouble(
            f"cannot listen on {host}:{port}: {reason.strerror}",
            hint=f"choose another {'--host: an address of this machine' if is_host else '--port'}",
        ) from None
    return listener


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)  # without it, asyncio leaves Nagle on
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)  # until then, others may be bound to the same address
    except OSError:
        listener.close()
        raise
    return listener


def hosts(host: str, port: int, others: Sequence[str] = ()) -> list[str]:
    """The host names that we answer to, so that no web page can reach us under another one.

    Our own names have our port. Others are as given: behind a proxy, clients name its port or none.
    """
    names = [shown(host), "127.0.0.1", "localhost", "[::1]"]
    if ip_address(host).is_unspecified:
        names.append(socket.gethostname())
    return [*(f"{name}:{port}" for name in names), *others]


def is_known(host: str, known: Collection[str], usual: Collection[int] = USUAL_PORTS) -> bool:
    """Is this host one of those known? A known one without a port has every port.

    If the host itself has no port, it means a usual one.
    """
    if host in known:  # as nearly always
        return True
    name, port = _parts(host.lower())
    ports = [port] if port else [str(each) for each in usual]
    return name in known or any(f"{name}:{each}" in known for each in ports)


def _parts(host: str) -> tuple[str, str]:
    """The name and the port, which may be missing."""
    found = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::(\d+))?", host)
    return (found[1], found[2] or "") if found else (host, "")


def shown(host: str) -> str:
    """An address as a part of a URL."""
    return f"[{host}]" if ":" in host else host
