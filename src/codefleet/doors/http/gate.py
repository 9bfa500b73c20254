"""Who asks: only known host names, no foreign web pages, and a token on every request."""

from collections.abc import Awaitable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from codefleet.domain.errors import FleetError, Unauthenticated
from codefleet.doors.http.problem import Unacceptable, problem
from codefleet.doors.http.session_cookie import session_in
from codefleet.doors.http.traffic import Traffic
from codefleet.doors.network import bounded, is_known
from codefleet.fleet import Fleet
from codefleet.fleet.tokens import owner_token

FORBIDDEN_CLOSE = {"type": "websocket.close", "code": 1008, "reason": "foreign origin"}
PORTS = {"http": 80, "https": 443}


class Gate:
    """Turns a request's token into the fleet of whoever holds it."""

    def __init__(self, fleet: Fleet, traffic: Traffic) -> None:
        self._fleet, self.traffic = fleet, traffic
        owner_token(fleet.home)  # made now, so that the owner finds it

    @property
    def home(self) -> Path:
        return self._fleet.home

    @property
    def stranger(self) -> Fleet:
        """The fleet for those without a token: to join a team, and to read public numbers."""
        return self._fleet

    async def fleet(self, headers: Mapping[str, str]) -> Fleet:
        """The fleet for whoever sends these headers: a token, or the session of our page."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await self.fleet_for(token)
        session = session_in(headers)
        if "authorization" in headers or session is None:
            self.traffic.refused += 1
            raise unauthenticated()
        return await self._admitted(self._fleet.with_session(session))

    async def fleet_for(self, token: str) -> Fleet:
        """The fleet for the holder of this token."""
        return await self._admitted(self._fleet.with_token(token))

    async def _admitted(self, asked: Awaitable[Fleet]) -> Fleet:
        """Strangers are not told what is wrong with what they sent."""
        try:
            found = await asked
        except Unauthenticated:
            self.traffic.refused += 1
            raise unauthenticated() from None
        self.traffic.authenticated += 1
        return found


def unauthenticated() -> Unauthenticated:
    return Unauthenticated(
        "this needs a valid token",
        hint="send the header `Authorization: Bearer TOKEN`",
    )


class Doorkeeper:
    """Refuses requests under a foreign name or from a foreign page before anything reads them."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = {name.lower() for name in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._refusal(dict(scope["headers"]))
        if refused is None:
            body = bounded(receive) if scope["type"] == "http" else receive
            await self._app(scope, body, send)
        elif scope["type"] == "websocket":
            await receive()
            await send(FORBIDDEN_CLOSE)
        else:
            await problem(refused)(scope, receive, send)

    def _refusal(self, headers: Mapping[bytes, bytes]) -> FleetError | None:
        if not is_known(headers.get(b"host", b"").decode("latin-1"), self._hosts):
            return Unacceptable(
                HTTPStatus.MISDIRECTED_REQUEST,
                "this server does not answer to that host name",
                hint="use the address that it printed, or name yours with --allow-host",
            )
        origin = headers.get(b"origin")
        if origin is not None and not self._is_ours(origin.decode("latin-1")):
            return Unacceptable(
                HTTPStatus.FORBIDDEN,
                "requests from other web pages are refused",
                hint="open the server's own address",
            )
        return None

    def _is_ours(self, origin: str) -> bool:
        scheme, _, host = origin.lower().partition("://")
        return scheme in PORTS and is_known(host, self._hosts, (PORTS[scheme],))
