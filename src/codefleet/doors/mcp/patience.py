"""How long the HTTP server waits for a client that does not complete its request."""

import asyncio
from typing import Any

from starlette.types import Message, Receive
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
BODY_S = 30.0


class Impatient(H11Protocol):
    """Closes a connection on which no complete request arrives in time."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        was_asked = self._is_asked
        super().data_received(data)
        if was_asked or self._is_asked:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    @property
    def _is_asked(self) -> bool:
        """Is there an unanswered request?"""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(HEAD_S, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._waiting:
            self._waiting.cancel()
            self._waiting = None

    def _hang_up(self) -> None:
        if not self._is_asked:
            self.transport.close()


def bounded(receive: Receive) -> Receive:
    """The same request; if its body does not arrive in time, it counts as disconnected."""
    is_whole = False

    async def next_part() -> Message:
        nonlocal is_whole
        if is_whole:
            return await receive()
        try:
            part = await asyncio.wait_for(receive(), BODY_S)
        except TimeoutError:
            return {"type": "http.disconnect"}
        is_whole = not part.get("more_body", False)
        return part

    return next_part
