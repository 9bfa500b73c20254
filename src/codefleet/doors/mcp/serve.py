"""How a server is reached: over standard input and output, or over HTTP with a token."""

import hmac
import socket
from collections.abc import Callable, Sequence
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from codefleet.domain.errors import FleetError, Refused, Workspace
from codefleet.doors.mcp.house import House
from codefleet.doors.mcp.patience import Impatient, bounded
from codefleet.doors.mcp.server import Door, assemble
from codefleet.fleet import Fleet
from codefleet.fleet.tokens import secret
from codefleet.runner import background

Say = Callable[[str], None]


async def over_stdio(fleet: Fleet, toolsets: Sequence[str], token: str | None) -> None:
    """Serve the client that started us until it closes our input."""
    await (await _door(fleet, toolsets, token)).run_stdio_async()


async def over_http(fleet: Fleet, toolsets: Sequence[str], host: str, port: int, say: Say) -> None:
    """Serve clients with the token at http://HOST:PORT/mcp, until we are stopped."""
    door = await _door(fleet, toolsets, None)
    file = fleet.home / "keys" / "mcp.token"
    listener = _listen(host, port)
    host, port = listener.getsockname()[:2]
    app = Guarded(door.streamable_http_app(transport_security=_hosts(host, port)), secret(file))
    shown = f"[{host}]" if ":" in host else host
    say(f"listening on http://{shown}:{port}/mcp; the token is in {file}")
    if not ip_address(host).is_loopback:
        say("this address is reachable from outside: anyone with the token commands the fleet")
    config = uvicorn.Config(
        app, http=Impatient, log_level="error", lifespan="on", timeout_graceful_shutdown=1
    )
    await uvicorn.Server(config).serve(sockets=[listener])


def bound_to(file: Path) -> str:
    """The token of a run, from the file that its agent was given."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise Refused(
            f"cannot read the token of a run in {file}", hint="agents get that file from the fleet"
        ) from None


class Guarded:
    """Admits only requests that carry the token; others learn nothing."""

    def __init__(self, app: ASGIApp, token: bytes) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._may(dict(scope["headers"])):
            await self._app(scope, bounded(receive), send)
            return
        error: FleetError = Refused(
            "this needs the fleet's token",
            hint="send the header `Authorization: Bearer TOKEN`; the server printed where it is",
        )
        refused = JSONResponse(
            error.as_dict(), status_code=401, headers={"WWW-Authenticate": "Bearer"}
        )
        await refused(scope, receive, send)

    def _may(self, headers: dict[bytes, bytes]) -> bool:
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token)


async def _door(fleet: Fleet, toolsets: Sequence[str], token: str | None) -> Door:
    if token is not None:  # an empty token is invalid, not absent: it must not grant full access
        await fleet.run_of(token)
    else:
        await background.ensure(fleet)
    return assemble(House(fleet, token), toolsets, version("codefleet"))


def _listen(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 is any free one."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as reason:
        raise Workspace(
            f"cannot listen on {host}:{port}: {reason.strerror}", hint="choose another --port"
        ) from None
    listener.listen()
    return listener


def _hosts(host: str, port: int) -> TransportSecuritySettings:
    """The host names that we accept, so that no web page can reach us under another one."""
    names: list[Any] = [host, "127.0.0.1", "localhost", "[::1]"]
    if ip_address(host).is_unspecified:
        names.append(socket.gethostname())
    return TransportSecuritySettings(
        allowed_hosts=[f"{name}:{port}" for name in names],
        allowed_origins=[f"http://{name}:{port}" for name in names],
    )
