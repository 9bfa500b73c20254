"""A run as its runner holds it: every write goes through here, serialized and fenced."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from codefleet.domain.errors import Stale, StoreGone, StoreTrouble
from codefleet.domain.events import event
from codefleet.domain.model import Event, Run
from codefleet.domain.redaction import Redaction
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.fleet.dispatch.runners import hiding

TRIES = 10
AGAIN_S = 1.0
LONGEST_TEXT = 4000
LONGEST_RESULT = 1000
"""Of what a tool printed, the log keeps the end; the run's own output has all of it."""

T = TypeVar("T")


async def retry_write(write: Callable[[], Awaitable[T]]) -> T:
    """Write, and retry for a while if the store fails: the agent keeps working meanwhile."""
    for _ in range(TRIES):
        try:
            return await write()
        except StoreGone:
            raise
        except StoreTrouble:
            await asyncio.sleep(AGAIN_S)
    return await write()


class Lease:
    """The current version of a live run, and its lease.

    Its fleet stores none of the `secrets`, which are what the run's agent can see.
    """

    def __init__(self, fleet: Fleet, run: Run, secrets: Collection[str] = ()) -> None:
        self.fleet = hiding(fleet, secrets)
        self.dispatch = Dispatch(self.fleet)
        self.run = run
        self.secrets = secrets
        self._redaction = Redaction(secrets)
        self.lost = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._remembered: dict[str, Any] = {}

    async def note(self, events: Sequence[Event] = (), **changes: Any) -> None:
        """Record changes and events; raises Stale once the run has lost its task."""
        events = [self._cut(each) for each in events]
        if len(said := changes.get("said", "")) > LONGEST_TEXT:
            changes["said"] = self._redaction.end(said, LONGEST_TEXT)
        async with self._one_at_a_time:
            changes, self._remembered = self._remembered | changes, {}
            try:
                noted = await retry_write(lambda: self.dispatch.note(self.run, events, **changes))
                self.run = noted.evolve(**self._remembered)  # what was remembered during the write
            except Stale:
                self.lost.set()
                raise

    async def end(self, write: Callable[[Run], Awaitable[T]]) -> T:
        """End the run with this write, without a lease renewal in between."""
        async with self._one_at_a_time:
            return await retry_write(lambda: write(self.run))

    def remember(self, **changes: Any) -> None:
        """Set fields that can wait for the next note to be stored."""
        self._remembered |= changes
        self.run = self.run.evolve(**changes)

    def _cut(self, event: Event) -> Event:
        if event.kind == "run.result" and len(event.text) > LONGEST_RESULT:
            return event.evolve(text=self._redaction.end(event.text, LONGEST_RESULT))
        if len(event.text) <= LONGEST_TEXT:
            return event
        return event.evolve(text=self._redaction.start(event.text, LONGEST_TEXT))

    async def tell(self, kind: str, text: str = "", **data: Any) -> None:
        """Append one event about this run."""
        now = await self.fleet.now()
        await self.note([event(kind, now, text, run=self.run, **data)])

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Renew the lease for as long as this lasts."""
        renewal = asyncio.create_task(self._renew())
        try:
            yield
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)

    async def _renew(self) -> None:
        while not self.lost.is_set():
            await asyncio.sleep(self.dispatch.lease.total_seconds() / 3)
            try:
                await self.note()
            except (Stale, StoreGone):
                return
            except StoreTrouble:
                continue
