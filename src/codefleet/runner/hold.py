"""A run as its runner holds it: every write goes through here, serialized and fenced."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from codefleet.domain.errors import Stale, StoreGone, StoreTrouble
from codefleet.domain.events import event
from codefleet.domain.model import Event, Run
from codefleet.fleet import Fleet
from codefleet.runner.agents.redaction import redacted

TRIES = 10
AGAIN_S = 1.0
WORDS = {"said", "evidence", "result"}
"""The fields with text from agents and programs, which must be redacted."""


T = TypeVar("T")


async def insist(write: Callable[[], Awaitable[T]]) -> T:
    """Write, and retry for a while if the store fails: the agent keeps working meanwhile."""
    for _ in range(TRIES):
        try:
            return await write()
        except StoreGone:
            raise
        except StoreTrouble:
            await asyncio.sleep(AGAIN_S)
    return await write()


class Hold:
    """The current version of a live run, and its lease."""

    def __init__(self, fleet: Fleet, run: Run, secrets: Collection[str] = ()) -> None:
        self.fleet = fleet
        self.run = run
        self.secrets = secrets
        self.lost = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._remembered: dict[str, Any] = {}

    async def note(self, events: Sequence[Event] = (), **changes: Any) -> None:
        """Record changes and events; raises Stale once the run has lost its task."""
        events = [self._redacted(each) for each in events]
        changes = {
            name: redacted(value, self.secrets) if name in WORDS else value
            for name, value in changes.items()
        }
        async with self._one_at_a_time:
            changes, self._remembered = self._remembered | changes, {}
            try:
                noted = await insist(lambda: self.fleet.note(self.run, events, **changes))
                self.run = noted.evolve(**self._remembered)  # what was remembered during the write
            except Stale:
                self.lost.set()
                raise

    async def end(self, write: Callable[[Run], Awaitable[T]]) -> T:
        """End the run with this write, without a lease renewal in between."""
        async with self._one_at_a_time:
            return await insist(lambda: write(self.run))

    def remember(self, **changes: Any) -> None:
        """Set fields that can wait for the next note to be stored."""
        self._remembered |= changes
        self.run = self.run.evolve(**changes)

    def _redacted(self, told: Event) -> Event:
        words = {"text": told.text, "data": told.data}
        clean = redacted(words, self.secrets)
        return told if clean == words else told.evolve(**clean)

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
            await asyncio.sleep(self.fleet.lease.total_seconds() / 3)
            try:
                await self.note()
            except (Stale, StoreGone):
                return
            except StoreTrouble:
                continue
