"""One set of tools for many callers: who calls is decided for each request, by whoever admits it.

No session is kept between requests. So a server can be replaced at any moment, and there is no
session that could be used with the token of another caller.
"""

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from importlib.metadata import version

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from codefleet.domain.access import AgentOf
from codefleet.doors.mcp.cut_off import Asked, begun, peek
from codefleet.doors.mcp.server import DEFAULT, TOOLSETS, Door, assemble, chosen
from codefleet.doors.mcp.toolset import ServerContext
from codefleet.fleet import Fleet

ANY_HOST = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""Whoever admits a request has checked for which host it is."""
WAITING = ("ask_human", "wait")
"""Tools that report progress until there is an answer."""
CALLER: ContextVar[Fleet] = ContextVar("caller")
"""The fleet for whoever sent the request that is being answered."""


class SharedDoors:
    """A server for each choice of toolsets, made when somebody first asks for it."""

    def __init__(self, fleet: Fleet) -> None:
        self._context = ServerContext(fleet, CALLER)
        self._made: dict[Sequence[str], Door] = {}
        self._opened: dict[object, asyncio.Future[StreamableHTTPSessionManager]] = {}
        self._running: list[asyncio.Task[None]] = []

    async def answer(
        self, fleet: Fleet, toolsets: Sequence[str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request of this caller, with these toolsets or with those meant for it."""
        asked, receive = await peek(receive)
        door = await self._door(_ordered(toolsets or _meant_for(fleet)), whole=_is_quick(asked))
        before = CALLER.set(fleet)
        try:
            await door.handle_request(scope, receive, begun(send, asked) if asked else send)
        finally:
            CALLER.reset(before)

    async def close(self) -> None:
        """Cut off all calls that are still being answered."""
        for running in self._running:
            running.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _door(self, names: Sequence[str], *, whole: bool) -> StreamableHTTPSessionManager:
        """The server with these toolsets that answers as a `whole`, or with a stream."""
        key = (names, whole)
        if key not in self._opened:
            if names not in self._made:
                self._made[names] = assemble(self._context, names, version("codefleet"))
            door = self._made[names]
            door.streamable_http_app(
                stateless_http=True, json_response=whole, transport_security=ANY_HOST
            )
            self._opened[key] = asyncio.get_running_loop().create_future()
            running = _run(door.session_manager, self._opened[key])
            self._running.append(asyncio.create_task(running))
        return await asyncio.shield(self._opened[key])


async def _run(
    door: StreamableHTTPSessionManager, opened: asyncio.Future[StreamableHTTPSessionManager]
) -> None:
    """Keep a server open until we are cancelled: the same task must open and close it."""
    async with door.run():
        opened.set_result(door)
        await asyncio.get_running_loop().create_future()


def _is_quick(asked: Asked | None) -> bool:
    return asked is not None and asked.tool not in WAITING


def _meant_for(fleet: Fleet) -> Sequence[str]:
    return ("agent",) if isinstance(fleet.actor, AgentOf) else DEFAULT


def _ordered(toolsets: Sequence[str]) -> Sequence[str]:
    """The same toolsets in one order, so that there are few choices."""
    names = chosen(toolsets)
    return tuple(name for name in TOOLSETS if name in names)
