"""What a bare server does with our store, and events at a pace: `python -m bench.http_store`."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import msgspec

from codefleet.domain.events import event
from codefleet.domain.lifecycle import Verb, move
from codefleet.domain.model import Task, TaskId
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery, Write
from codefleet.wiring import open_fleet

TICK_S = 0.02


class Handlers:
    """The shortest way from a request to the store and back."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._fleet: Fleet | None = None
        self._clients: set[asyncio.Queue[bytes]] = set()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        async with open_fleet(self._home, create=True) as self._fleet:
            reading = asyncio.create_task(self._broadcast(self._fleet))
            yield
            reading.cancel()

    @property
    def fleet(self) -> Fleet:
        assert self._fleet
        return self._fleet

    async def create(self, title: str) -> Task:
        store = self.fleet.core.store
        now = await store.now()
        name = TaskId(uuid4().hex[:8])
        task = Task(id=name, title=title, repo="bench", created_at=now, updated_at=now)
        await store.write(Write(tasks=[task], events=[event("task.added", now, title, task=task)]))
        return task

    async def read(self, ref: str) -> Task:
        (task,) = await self.fleet.core.store.tasks(TaskQuery(ids=[TaskId(ref)]))
        return task

    async def assign(self, ref: str, assignee: str) -> Task:
        store = self.fleet.core.store
        task = await self.read(ref)
        after = task.evolve(assignee=assignee, version=task.version + 1)
        told = event("task.edited", await store.now(), "assignee", task=after)
        await store.write(Write(tasks=[after], events=[told]))
        return after

    async def cancel(self, ref: str) -> Task:
        store = self.fleet.core.store
        after = move(await self.read(ref), Verb.CANCEL)
        told = event("task.cancelled", await store.now(), task=after)
        await store.write(Write(tasks=[after], events=[told]))
        return after

    async def stream(self) -> AsyncIterator[bytes]:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._clients.add(queue)
        while True:
            yield await queue.get()

    async def _broadcast(self, fleet: Fleet) -> None:
        async for each in fleet.follow(after=await fleet.last_seq()):
            sent = b"id: %d\ndata: %b\n\n" % (each.seq, msgspec.json.encode(each))
            for client in self._clients:
                client.put_nowait(sent)


async def happen(home: Path, per_second: int, seconds: float) -> None:
    """Append events at this pace, each with the time when it was written."""
    async with open_fleet(home) as fleet:
        store = fleet.core.store
        begin, told, many = time.monotonic(), 0, int(per_second * seconds)
        while told < many:
            due = min(many, int((time.monotonic() - begin) * per_second) + 1)
            if due > told:
                now = await store.now()
                some = [event("fleet.resumed", now, f"@{time.time():.6f}@")] * (due - told)
                await store.write(Write(events=some))
                told = due
            await asyncio.sleep(TICK_S)


if __name__ == "__main__":
    asyncio.run(happen(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
