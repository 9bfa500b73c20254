"""The store as a queue: tasks are the jobs, and each is claimed under a lease with its run."""

import asyncio
import time
from itertools import count

from bench.store import LEASE, SEATS, a_task, an_event, completed, work_off
from codefleet.domain.scheduling import ClaimFilter
from codefleet.ports import Store, Write


class Ours:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._numbers = count()

    async def add(self, many: int) -> None:
        for _ in range(many):
            await self.add_bulk(1)

    async def add_bulk(self, many: int) -> None:
        tasks = [a_task(next(self._numbers)) for _ in range(many)]
        await self._store.write(
            Write(tasks=tasks, events=[an_event("task.added", t) for t in tasks])
        )

    async def work(self, many: int, workers: int) -> None:
        left = iter(range(many))
        await asyncio.gather(*(work_off(self._store, seat, left) for seat in SEATS[:workers]))

    async def waits(self, many: int, pause_s: float) -> list[float]:
        """Seconds from adding a job to its start by a waiting worker, many times."""
        started: asyncio.Queue[float] = asyncio.Queue()
        worker = asyncio.ensure_future(self._wait(many, started))
        took = []
        for _ in range(many):
            await asyncio.sleep(pause_s)
            begin = time.perf_counter()
            await self.add_bulk(1)
            took.append(await started.get() - begin)
        await worker
        return took

    async def _wait(self, many: int, started: "asyncio.Queue[float]") -> None:
        for _ in range(many):
            seen = await self._store.last_seq()
            while not (claims := await self._store.claim(SEATS[:1], ClaimFilter(), lease=LEASE)):
                await self._store.changed(seen, within=5)
                seen = await self._store.last_seq()
            started.put_nowait(time.perf_counter())
            await self._store.write(completed(claims[0]))
