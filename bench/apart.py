"""Several raw loops over one queue, each in a thread with its own connection and commits."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

Needs = Sequence[tuple[int, int]]
Claimed = tuple[int, int, str]


class Raw(Protocol):
    """A hand-written queue: see bench/raw.py and bench/raw_postgres.py."""

    def add(self, tasks: Iterable[int], needs: Needs = ()) -> None: ...

    def claim(self, workers: int = 1) -> list[Claimed]: ...

    def complete(self, claimed: Iterable[Claimed]) -> None: ...

    def tell(self, many: int) -> None: ...

    def counts(self) -> object: ...

    def close(self) -> None: ...


class RawApart:
    """As many connections to one queue as there are loops; if it is locked, they wait."""

    def __init__(self, queues: Sequence[Raw]) -> None:
        self._queues = queues
        self._threads = ThreadPoolExecutor(len(queues))

    def add(self, tasks: Iterable[int]) -> None:
        self._queues[0].add(tasks)

    def work(self, many: int) -> None:
        """Claim and complete this many tasks, one at a time in each loop."""
        left = iter(range(many))
        loops = [self._threads.submit(_work_off, queue, left) for queue in self._queues]
        for loop in loops:
            loop.result()

    def close(self) -> None:
        self._threads.shutdown()
        for queue in self._queues:
            queue.close()


def _work_off(queue: Raw, left: Iterator[int]) -> None:
    for _ in left:
        queue.complete(queue.claim())
