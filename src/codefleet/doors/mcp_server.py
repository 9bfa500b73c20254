"""`fleet mcp --http`: the tools for whoever has the owner's token, bounded as the server is."""

import hmac
from collections.abc import Callable, Sequence
from ipaddress import ip_address

import uvicorn
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from codefleet.domain.errors import FleetError
from codefleet.doors.http.gate import Doorkeeper, unauthenticated
from codefleet.doors.http.handler import read_body
from codefleet.doors.http.problem import problem
from codefleet.doors.mcp.serve import http_app
from codefleet.doors.network import hosts, listen, shown, uvicorn_config
from codefleet.doors.tools import read_again
from codefleet.fleet import Fleet
from codefleet.fleet.tokens import owner_token, owner_token_file

Say = Callable[[str], None]


async def serve(fleet: Fleet, toolsets: Sequence[str], host: str, port: int, say: Say) -> None:
    """Serve clients with the token at http://HOST:PORT/mcp, until we are stopped."""
    app = await http_app(fleet, toolsets)
    listener = listen(host, port)
    host, port = listener.getsockname()[:2]
    guarded = Guarded(app, owner_token(fleet.home), hosts(host, port))
    where = owner_token_file(fleet.home)
    say(f"listening on http://{shown(host)}:{port}/mcp; the token is in {where}")
    if not ip_address(host).is_loopback:
        say("this address is reachable from outside: anyone with the token commands the fleet")
    await uvicorn.Server(uvicorn_config(guarded, drain_s=1, lifespan="on")).serve([listener])


class Guarded:
    """Admits only whole requests under our name that carry the token; others learn nothing."""

    def __init__(self, app: ASGIApp, token: bytes, names: Sequence[str]) -> None:
        self._app, self._token = app, token
        self._doorkeeper = Doorkeeper(self._admit, names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        inside = self._app if scope["type"] == "lifespan" else self._doorkeeper
        await inside(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
            return
        try:
            if not self._may(dict(scope["headers"])):
                raise unauthenticated()
            if scope["method"] == "POST":
                receive = read_again(await read_body(Request(scope, receive)), receive)
        except FleetError as refused:
            await problem(refused)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _may(self, headers: dict[bytes, bytes]) -> bool:
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token)
