"""Operations that wait for something to happen.

When the server stops, they answer at once; when the caller may no longer ask, they end at once.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any, TypeVar

from starlette.requests import Request

from codefleet.api.operation import Operation
from codefleet.doors.http.gate import Gate, unauthenticated
from codefleet.doors.http.handler import Handler
from codefleet.doors.http.hub import Hub
from codefleet.fleet import Fleet

T = TypeVar("T")
WAITING = ("changed", "watch")
"""The names of these operations."""


class LongPoll(Handler):
    """Waits no longer than until the server stops, as if the client's time were over."""

    def __init__(self, operation: Operation, gate: Gate, hub: Hub) -> None:
        super().__init__(operation, gate)
        self._hub = hub

    async def _done(
        self, fleet: Fleet, given: Mapping[str, Any], request: Request, body: bytes
    ) -> Any:
        work = super()._done(fleet, given, request, body)
        with self._hub.connected(fleet) as guest:
            done = await _unless(work, self._hub.stopping, guest.refused, otherwise=False)
        if guest.refused.is_set():
            raise unauthenticated()
        return done

    async def _told(self, fleet: Fleet, given: Mapping[str, Any]) -> AsyncIterator[Any]:
        told = super()._told(fleet, given)
        with self._hub.connected(fleet) as guest:
            seen = await anext(told, None)
            while seen is not None and not guest.refused.is_set():
                yield seen
                events = (self._hub.stopping, guest.refused)
                seen = await _unless(_next(told), *events, otherwise=None)


async def _next(told: AsyncIterator[Any]) -> Any:
    return await anext(told, None)


async def _unless(work: Coroutine[Any, Any, T], *events: asyncio.Event, otherwise: T) -> T:
    """What the work returns; if one of the events comes first, the work is dropped."""
    working = asyncio.create_task(work)
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait((working, *waiting), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else otherwise
    finally:
        for each in (working, *waiting):
            each.cancel()
        await asyncio.gather(working, *waiting, return_exceptions=True)
