"""The log for many streams: each view of it is read once, and each event is encoded once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from codefleet.domain.errors import FleetError
from codefleet.doors.http.guests import Guest
from codefleet.doors.http.stream import Stream, Wanted, framed
from codefleet.fleet import Fleet
from codefleet.runner.crash_log import record
from codefleet.runner.paths import Paths

RETRY_S = 1.0
ALIVE_S = 15.0
"""How often clients get a sign of life."""
LOOK_AGAIN_S = 0.02
"""How long the server looks away after it has looked for endings: a busy log has many commits."""
EXPIRY_S = 10.0
"""How long after a token has expired its streams may go on."""
ENDINGS = ("token.revoked", "team.removed", "run.ended", "run.failed", "task.released")
"""Events after which somebody may no longer ask."""


class Channel:
    """One view of the log, read once for all streams that have it."""

    def __init__(self, fleet: Fleet, team: str | None, after: int) -> None:
        """It begins after this seq: what came before, each stream reads for itself."""
        self._fleet, self._team, self._seq = fleet, team, after
        self.streams: set[Stream] = set()
        self._reading = asyncio.create_task(persistently(self._read, Paths(fleet.home).crash_log()))

    async def stop(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        async for event in self._fleet.follow(after=self._seq, team=self._team):
            self._seq = event.seq
            frame = framed(event)
            for stream in self.streams:
                stream.offer(frame)


class Hub:
    """The channels of a server: one for each view of the log that clients have.

    A member of a team sees the team's events, and some only with its role. The agent of a run has
    a view of its own.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.seq = 0
        """The latest event that the server has seen."""
        self._missed = self._gaps = 0
        self._channels: dict[object, Channel] = {}
        self._guests: set[Guest] = set()
        """Those who are connected in another way than by a stream."""
        self._tasks: list[asyncio.Task[None]] = []
        self._checked = monotonic()
        self.stopping = asyncio.Event()
        """Set once the server stops: whoever waits for news waits no longer."""

    async def start(self) -> None:
        self.seq = await self._fleet.last_seq()
        log = Paths(self._fleet.home).crash_log()
        steps = (self._end_refused, self._show_life)
        self._tasks = [asyncio.create_task(persistently(step, log)) for step in steps]

    async def open(self, fleet: Fleet, wanted: Wanted, after: int) -> Stream:
        """A stream for one client, which its fleet is for; close it when the client is gone."""
        latest = await self._fleet.last_seq()
        stream = Stream(fleet, wanted, after)
        view = stream.view
        if view not in self._channels:
            self._channels[view] = Channel(fleet, wanted.team, latest)
        self._channels[view].streams.add(stream)
        if self.stopping.is_set():
            stream.end()
        return stream

    async def close(self, stream: Stream) -> None:
        view = stream.view
        channel = self._channels[view]
        channel.streams.discard(stream)
        self._missed, self._gaps = self._missed + stream.missed, self._gaps + stream.gaps
        if not channel.streams:
            del self._channels[view]
            await channel.stop()

    @contextmanager
    def connected(self, fleet: Fleet) -> Iterator[Guest]:
        """Whoever is connected as long as this lasts, and is told to leave once refused."""
        guest = Guest(fleet)
        self._guests.add(guest)
        try:
            yield guest
        finally:
            self._guests.discard(guest)

    @property
    def streams(self) -> list[Stream]:
        return [stream for channel in self._channels.values() for stream in channel.streams]

    @property
    def clients(self) -> int:
        return len(self.streams)

    @property
    def missed(self) -> int:
        """How many events were dropped, because clients did not keep up."""
        return self._missed + sum(stream.missed for stream in self.streams)

    @property
    def gaps(self) -> int:
        """How many gaps clients were told of."""
        return self._gaps + sum(stream.gaps for stream in self.streams)

    def drain(self) -> None:
        """Let every stream and every wait end, since the server does."""
        self.stopping.set()
        for stream in self.streams:
            stream.end()

    async def stop(self) -> None:
        self.drain()
        for channel in [*self._channels.values()]:
            await channel.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _show_life(self) -> None:
        await asyncio.sleep(ALIVE_S)
        for stream in self.streams:
            stream.wake()

    async def _end_refused(self) -> None:
        """End the streams of those whose token is revoked or has expired, or whose run is over."""
        await self._fleet.changed(self.seq, within=EXPIRY_S)
        latest = await self._fleet.last_seq()
        told = await self._fleet.events(after=self.seq, kinds=ENDINGS, limit=1)
        if told or monotonic() - self._checked >= EXPIRY_S:
            for stream in self.streams:
                await stream.end_if_refused()
            for guest in [*self._guests]:
                await guest.check()
            self._checked = monotonic()
        self.seq = latest  # only now: if a check fails, it is repeated
        await asyncio.sleep(LOOK_AGAIN_S)


async def persistently(step: Callable[[], Awaitable[None]], log: Path) -> None:
    """Repeat a step for ever. Trouble with the store may pass; what is unexpected is recorded."""
    last = ""
    while True:
        try:
            await step()
        except FleetError:
            await asyncio.sleep(RETRY_S)
        except Exception as surprise:
            if repr(surprise) != last:  # once, not every second
                record(log, "a stream of events", surprise)
            last = repr(surprise)
            await asyncio.sleep(RETRY_S)
