"""The tools of a runner's agents, at one address of this machine for as long as the runner works.

The address is there at once. What answers is loaded when the first agent calls: until then it
costs nothing but an open socket.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec

from codefleet.domain.access import OWNER
from codefleet.domain.words import AgentTools
from codefleet.doors import tools_port
from codefleet.fleet import Fleet
from codefleet.runner.context import Context
from codefleet.runner.crash_log import record
from codefleet.runner.paths import Paths


@asynccontextmanager
async def offered(context: Context) -> AsyncIterator[None]:
    """Let the agents of this runner call their tools over HTTP, if the settings want that."""
    fleet = context.fleet
    async with AsyncExitStack() as stack:
        if fleet.config.agent_tools is AgentTools.HTTP and find_spec("mcp"):
            try:
                listener = stack.enter_context(tools_port.listening(fleet.home))
            except OSError as trouble:  # agents then start servers of their own
                record(Paths(fleet.home).crash_log(), "the agents' tools", trouble)
            else:
                context.tools_url = "http://{}:{}/mcp".format(*listener.getsockname())
                await stack.enter_async_context(_answering(fleet, listener))
        yield


@asynccontextmanager
async def _answering(fleet: Fleet, listener: socket.socket) -> AsyncIterator[None]:
    answering = asyncio.create_task(_answer(fleet, listener))
    try:
        yield
    finally:
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)


async def _answer(fleet: Fleet, listener: socket.socket) -> None:
    try:
        await _first_call(listener)
        serve = await asyncio.to_thread(_loaded)
        await serve(fleet.acting_as(OWNER), listener)
    except Exception as surprise:
        record(Paths(fleet.home).crash_log(), "the agents' tools", surprise)


def _loaded() -> Callable[[Fleet, socket.socket], Awaitable[None]]:
    from codefleet.doors.tools_server import serve

    return serve


async def _first_call(listener: socket.socket) -> None:
    """Wait until somebody connects; the connection waits for us in turn."""
    loop = asyncio.get_running_loop()
    called = asyncio.Event()
    loop.add_reader(listener, called.set)
    try:
        await called.wait()
    finally:
        loop.remove_reader(listener)
