"""The server of a runner's `/mcp`, beside the runner in its process."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from codefleet.doors.http.gate import Doorkeeper
from codefleet.doors.http.problem import Unacceptable, problem
from codefleet.doors.network import hosts, uvicorn_config
from codefleet.doors.tools import PATH, Tools
from codefleet.fleet import Fleet

LIBRARIES = ("uvicorn.error", "mcp.server.streamable_http", "mcp.server.streamable_http_manager")


class Server(uvicorn.Server):
    """Leaves all signals to the runner."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(fleet: Fleet, listener: socket.socket) -> None:
    """Answer at this socket until we are cancelled."""
    host, port = listener.getsockname()
    tools = Tools(fleet)
    config = uvicorn_config(Doorkeeper(_only(tools), hosts(host, port)), drain_s=1)
    for name in LIBRARIES:
        logging.getLogger(name).disabled = True  # the terminal may show the fleet's live view
    server = Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await tools.close()
        await serving


def _only(tools: Tools) -> ASGIApp:
    """The tools at their path, and nothing elsewhere."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == PATH:
            await tools(scope, receive, send)
            return
        nothing = Unacceptable(HTTPStatus.NOT_FOUND, "there is nothing here", hint=f"use {PATH}")
        await problem(nothing)(scope, receive, send)

    return app
