"""`/mcp`: the fleet's tools over HTTP, for agents and for clients, each with a token of its own."""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from codefleet.domain.errors import FleetError
from codefleet.doors.http.gate import Gate
from codefleet.doors.http.handler import read_body
from codefleet.doors.http.problem import Unacceptable, problem
from codefleet.doors.http.traffic import Traffic
from codefleet.doors.mcp.cut_off import over
from codefleet.fleet import Fleet

if TYPE_CHECKING:
    from codefleet.doors.mcp.shared import SharedDoors

PATH = "/mcp"
STREAM = "text/event-stream"


class Tools:
    """Admits each request by its token, and lets the door for its caller answer it."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet, self._gate = fleet, Gate(fleet, Traffic())
        self._doors: SharedDoors | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            headers = Headers(scope=scope)
            caller = await self._gate.fleet(headers)
            if scope["method"] == "GET" and "last-event-id" in headers:
                rest = Response(over(headers["last-event-id"]), media_type=STREAM)
                await rest(scope, receive, send)
                return
            if scope["method"] != "POST":
                raise _not_a_post()
            body = await read_body(Request(scope, receive))
            answer = (await self._open()).answer
            await answer(caller, _toolsets(scope), scope, read_again(body, receive), send)
        except FleetError as refused:
            await problem(refused)(scope, receive, send)

    async def close(self) -> None:
        """Cut off all calls that are still being answered."""
        if self._doors:
            await self._doors.close()

    async def _open(self) -> "SharedDoors":
        """The doors, once somebody needs them: their library takes a second to load."""
        if self._doors is None:
            shared = await asyncio.to_thread(_loaded)
            self._doors = self._doors or shared(self._fleet)
        return self._doors


def _loaded() -> "type[SharedDoors]":
    from codefleet.doors.mcp.shared import SharedDoors

    return SharedDoors


def read_again(body: bytes, receive: Receive) -> Receive:
    """The same request, whose body we have read: it is whole, and not too large."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_part() -> Message:
        return parts.pop() if parts else await receive()

    return next_part


def _toolsets(scope: Scope) -> Sequence[str]:
    """The toolsets that the address names: `/mcp?toolsets=workers,team`."""
    said = parse_qs(scope["query_string"].decode("latin-1")).get("toolsets", [""])[0]
    return [name.strip() for name in said.split(",") if name.strip()]


def _not_a_post() -> Unacceptable:
    """Nothing is sent without being asked for, so there is no stream to open or to close."""
    return Unacceptable(
        HTTPStatus.METHOD_NOT_ALLOWED, "this takes only POST", hint="send an MCP request"
    )
