"""Queue libraries on PostgreSQL, each used as documented; their workers are coroutines."""

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from datetime import timedelta
from importlib import import_module
from typing import Any

from bench.queues_sqlite import JOB


class _Started:
    """The only job: it reports that it has started."""

    def __init__(self) -> None:
        self.at: asyncio.Queue[float] = asyncio.Queue()

    async def __call__(self, *args: Any, **more: Any) -> None:
        self.at.put_nowait(time.perf_counter())


class Procrastinate:
    def __init__(self, address: str) -> None:
        library = import_module("procrastinate")
        self.started = _Started()
        self.app = library.App(connector=library.PsycopgConnector(conninfo=address))

        async def job(text: str) -> None:
            await self.started()

        self.job = self.app.task(name="job")(job)

    async def open(self) -> None:
        await self.app.open_async()
        await self.app.schema_manager.apply_schema_async()

    async def close(self) -> None:
        await self.app.close_async()

    async def add(self, many: int) -> None:
        for _ in range(many):
            await self.job.defer_async(text=JOB)

    async def add_bulk(self, many: int) -> None:
        await self.job.batch_defer_async(*({"text": JOB} for _ in range(many)))

    async def work(self, many: int, workers: int) -> None:
        await self._worker(wait=False, concurrency=workers)
        assert self.started.at.qsize() >= many

    async def waits(self, many: int, pause_s: float) -> list[float]:
        return await _waits(self, self._worker(wait=True, concurrency=1), many, pause_s)

    def _worker(self, **how: Any) -> Coroutine[Any, Any, None]:
        worker: Coroutine[Any, Any, None] = self.app.run_worker_async(
            install_signal_handlers=False, **how
        )
        return worker


class PgQueuer:
    def __init__(self, address: str) -> None:
        self.address = address
        self.started = _Started()
        self.connections: list[Any] = []

    async def open(self) -> None:
        self.queries = import_module("pgqueuer.queries").Queries(await self._driver())
        await self.queries.install()

    async def close(self) -> None:
        for connection in self.connections:
            await connection.close()

    async def add(self, many: int) -> None:
        for _ in range(many):
            await self.queries.enqueue("job", JOB.encode())

    async def add_bulk(self, many: int) -> None:
        await self.queries.enqueue(["job"] * many, [JOB.encode()] * many, [0] * many)

    async def work(self, many: int, workers: int) -> None:
        """Its own way to run several workers is to claim a batch at a time."""
        drain = import_module("pgqueuer.types").QueueExecutionMode.drain
        manager = await self._manager()
        await manager.run(mode=drain, batch_size=workers, dequeue_timeout=timedelta(seconds=1))
        assert self.started.at.qsize() >= many

    async def waits(self, many: int, pause_s: float) -> list[float]:
        manager = await self._manager()
        return await _waits(self, manager.run(batch_size=1), many, pause_s)

    async def _manager(self) -> Any:
        manager = import_module("pgqueuer").PgQueuer(await self._driver())
        manager.entrypoint("job")(self.started)
        return manager

    async def _driver(self) -> Any:
        connection = await import_module("asyncpg").connect(self.address)
        self.connections.append(connection)
        return import_module("pgqueuer.db").AsyncpgDriver(connection)


async def _waits(
    queue: Procrastinate | PgQueuer, worker: Coroutine[Any, Any, None], many: int, pause_s: float
) -> list[float]:
    """Seconds from adding a job to its start by a waiting worker, many times."""
    running = asyncio.ensure_future(worker)
    started = queue.started.at = asyncio.Queue()
    took = []
    async with asyncio.timeout(60):
        for _ in range(1 + many):
            await asyncio.sleep(pause_s)
            begin = time.perf_counter()
            await queue.add(1)
            took.append(await started.get() - begin)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    return took[1:]  # the first may have come before the worker waited
