"""What one client of the log has still to get: a bounded queue of events.

A client that does not keep up loses its oldest events and is told which: it never slows the fleet,
nor the other clients.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

import msgspec

from codefleet.domain.access import AgentOf, Holder
from codefleet.domain.model import Event
from codefleet.doors.http.guests import Guest
from codefleet.fleet import Fleet

LONGEST_QUEUE = 1000
PAGE = 500


class Frame(NamedTuple):
    """An event, its JSON, and both as a server-sent event."""

    event: Event
    json: bytes
    sse: bytes


class Gap(NamedTuple):
    """Events that a client was too slow for: those after the first seq, up to the last."""

    after: int
    until: int


class Wanted(NamedTuple):
    """Which events a client wants; empty means all."""

    task: str | None = None
    run: str | None = None
    kinds: Sequence[str] = ()
    team: str | None = None
    """The store knows which events are a team's: its channel has no others."""

    def has(self, event: Event) -> bool:
        return (
            self.task in (None, event.task)
            and self.run in (None, event.run)
            and (not self.kinds or event.kind in self.kinds)
        )


class Stream:
    """What one client has still to get."""

    def __init__(self, fleet: Fleet, wanted: Wanted, after: int) -> None:
        self.seq, self.fleet = after, fleet
        self._wanted = wanted
        self.view = (_view(fleet), wanted.team)
        self._queue: deque[Frame] = deque()
        self._missed: int | None = None
        self.missed = self.gaps = 0
        self._news = asyncio.Event()
        self._is_over = False
        self.guest = Guest(fleet)

    def offer(self, frame: Frame) -> None:
        """Queue an event; if there are too many, the oldest is dropped."""
        if self._is_over or not self._wanted.has(frame.event):
            return
        if len(self._queue) >= LONGEST_QUEUE:
            self._missed = self._queue.popleft().event.seq
            self.missed += 1
        self._queue.append(frame)
        self._news.set()

    def end(self) -> None:
        """Let the stream end once the client has what is queued."""
        self._is_over = True
        self._news.set()

    async def end_if_refused(self) -> None:
        """End at once if whoever has it may no longer ask."""
        if not await self.guest.check():
            self._queue.clear()
            self.end()

    def wake(self) -> None:
        """Let the client get a sign of life if there is nothing else for it."""
        self._news.set()

    async def parts(self) -> AsyncIterator[Sequence[Frame | Gap]]:
        """What there is to send, as it comes; nothing at all now and then, to show life."""
        async for frames in self._from_the_store():
            yield frames
        while not (self._is_over and not self._queue):
            await self._news.wait()
            if (some := self._taken()) or not self._is_over:
                yield some

    async def _from_the_store(self) -> AsyncIterator[Sequence[Frame]]:
        """What happened before the stream began, a page at a time."""
        while page := await self._page():
            self.seq = page[-1].seq
            yield [framed(event) for event in page if self._wanted.has(event)]
            if len(page) < PAGE:
                return

    async def _page(self) -> Sequence[Event]:
        return await self.fleet.events(after=self.seq, limit=PAGE, team=self._wanted.team)

    def _taken(self) -> Sequence[Frame | Gap]:
        """Everything queued; what came from the store already is not sent twice."""
        self._news.clear()
        some: list[Frame | Gap] = []
        if self._missed is not None and self._missed > self.seq:
            some.append(Gap(self.seq, self._missed))
            self.gaps += 1
        self._missed = None
        some += [frame for frame in self._queue if frame.event.seq > self.seq]
        self._queue.clear()
        if some and isinstance(some[-1], Frame):
            self.seq = some[-1].event.seq
        return some


def _view(fleet: Fleet) -> object:
    """What decides which events an actor sees: nothing else may differ within a channel."""
    match fleet.actor:
        case Holder(team=team, role=role):
            return team, role
        case AgentOf(run=run):
            return run
        case _:
            return None


def framed(event: Event) -> Frame:
    """An event as it is sent to all who want it."""
    json = msgspec.json.encode(event)
    return Frame(event, json, b"id: %d\ndata: %b\n\n" % (event.seq, json))
