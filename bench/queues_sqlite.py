"""Queue libraries on SQLite, each used as documented; their workers are threads."""

import asyncio
import time
from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

JOB = "Extract the mailer into a module of its own and cover it with tests. " * 8
POLL_S = 0.01
"""How often a worker polls for jobs if its library cannot wait."""


class Threads(ABC):
    """A queue whose calls block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.queue = self.opened()

    @abstractmethod
    def opened(self) -> Any:
        """A connection to the queue, for one thread."""

    @abstractmethod
    def put(self, many: int) -> None: ...

    def put_bulk(self, many: int) -> None:
        """All at once, where the library supports it."""
        self.put(many)

    @abstractmethod
    def take(self, queue: Any) -> bool:
        """Claim and complete one job; False if there is none."""

    async def add(self, many: int) -> None:
        self.put(many)

    async def add_bulk(self, many: int) -> None:
        self.put_bulk(many)

    async def work(self, many: int, workers: int) -> None:
        def worker() -> None:
            queue = self.opened()
            done = 0
            while done < many // workers:
                done += self.take(queue)

        await asyncio.gather(*(asyncio.to_thread(worker) for _ in range(workers)))

    async def waits(self, many: int, pause_s: float) -> list[float]:
        """Seconds from adding a job to its start by a waiting worker, many times."""
        started: SimpleQueue[float] = SimpleQueue()
        is_over = Event()
        worker = Thread(target=self._wait, args=(started, is_over))
        worker.start()
        took = []
        for _ in range(many):
            await asyncio.sleep(pause_s)
            begin = time.perf_counter()
            self.put(1)
            took.append(await asyncio.to_thread(started.get) - begin)
        is_over.set()
        await asyncio.to_thread(worker.join)
        return took

    def _wait(self, started: "SimpleQueue[float]", is_over: Event) -> None:
        queue = self.opened()
        while not is_over.is_set():
            if self.take(queue):
                started.put(time.perf_counter())
            else:
                time.sleep(POLL_S)


class LiteQueue(Threads):
    def opened(self) -> Any:
        return import_module("litequeue").LiteQueue(self.path)

    def put(self, many: int) -> None:
        for _ in range(many):
            self.queue.put(JOB)

    def put_bulk(self, many: int) -> None:
        with self.queue.transaction():
            self.put(many)

    def take(self, queue: Any) -> bool:
        job = queue.pop()
        if job is None:
            return False
        queue.done(job.message_id)
        return True


class Huey(Threads):
    def opened(self) -> Any:
        huey = import_module("huey").SqliteHuey(filename=str(self.path), results=False)
        self.job = huey.task()(_nothing)
        return huey

    def put(self, many: int) -> None:
        for _ in range(many):
            self.job(JOB)

    def take(self, queue: Any) -> bool:
        job = queue.dequeue()
        if job is None:
            return False
        queue.execute(job)
        return True


class PersistQueue(Threads):
    """One queue for all threads: the library keeps claims in memory."""

    queue: Any = None

    def opened(self) -> Any:
        made = import_module("persistqueue").SQLiteAckQueue
        return self.queue or made(str(self.path), multithreading=True)

    def put(self, many: int) -> None:
        for _ in range(many):
            self.queue.put(JOB)

    def take(self, queue: Any) -> bool:
        try:
            job = queue.get(block=False, raw=True)
        except import_module("persistqueue").Empty:
            return False
        queue.ack(id=job["pqid"])
        return True


def _nothing(job: str) -> None:
    """The work of every job."""
