"""A connection that sends at once what can be sent at once.

Before every message psycopg asks the event loop whether the socket has room for it. It nearly
always has, and to ask in this way costs more than the message: the loop is told to watch the
socket, goes round, and is told to stop. In a pipeline, where messages follow one another, that is
most of the cost.
"""

import select
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.waiting import Wait

T = TypeVar("T")


class Connection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """Waits only where there is something to wait for."""

    async def wait(self, gen: PQGen[T], *args: Any, **more: Any) -> T:
        return await super().wait(_eager(gen, self.fileno()), *args, **more)


def _eager(talk: PQGen[T], socket: int) -> PQGen[T]:
    """The same talk with the server, in which only those waits are left that last."""
    try:
        wanted = next(talk)
        while True:
            wanted = talk.send(_ready_now(socket, wanted) or (yield wanted))
    except StopIteration as end:
        result: T = end.value
        return result


def _ready_now(socket: int, wanted: int) -> int:
    """What of the wanted need not be waited for; an answer alone always needs to be."""
    if not wanted & Wait.W:
        return 0
    poll = select.poll()
    poll.register(socket, select.POLLIN | select.POLLOUT)
    ready = 0
    for _, found in poll.poll(0):
        ready = (found & select.POLLOUT and Wait.W) | (found & select.POLLIN and Wait.R)
    return ready & wanted
