"""A connection that sends at once what can be sent at once.

Before every message psycopg asks the event loop whether the socket has room for it. It nearly
always has, and to ask in this way costs more than the message: the loop is told to watch the
socket, goes round, and is told to stop. In a pipeline, where messages follow one another, that is
most of the cost.
"""

import select
from functools import cached_property
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.waiting import Ready, Wait

T = TypeVar("T")


class Connection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """Waits only where there is something to wait for."""

    async def wait(self, gen: PQGen[T], *args: Any, **more: Any) -> T:
        return await super().wait(self._eager(gen), *args, **more)

    def _eager(self, talk: PQGen[T]) -> PQGen[T]:
        """The same talk with the server, but it goes on by itself as long as it can send."""
        try:
            wanted = next(talk)
            while True:
                can_send = wanted & Wait.W and self._socket.poll(0)
                wanted = talk.send(Ready.W if can_send else (yield wanted))
        except StopIteration as end:
            result: T = end.value
            return result

    @cached_property
    def _socket(self) -> select.poll:
        socket = select.poll()
        socket.register(self.fileno(), select.POLLOUT)
        return socket
