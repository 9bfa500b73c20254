"""The SQLite store beside a raw loop of the same durability. bench/raw.py says what raw does."""

import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.raw import RawQueue
from bench.row import Row
from codefleet.domain.lifecycle import Claim, Seat, Verb, end, move
from codefleet.domain.model import Event, Outcome, RunnerId, Task, TaskId
from codefleet.domain.scheduling import Want
from codefleet.ports import Write
from codefleet.store.sqlite.database import Durability
from codefleet.store.sqlite.store import SqliteStore

ROUNDS = 5
AT_ONCE = 8
LEASE = timedelta(minutes=5)
NOW = datetime.now(UTC)
PROMPT = "Extract the mailer into a module of its own and cover it with tests. " * 8
SEATS = [Seat(f"agent-{n}", RunnerId("bench"), "here", "scripted") for n in range(AT_ONCE)]

Needs = Sequence[tuple[int, int]]


class RealClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class Pair(NamedTuple):
    """Ours and raw, both fresh."""

    ours: SqliteStore
    raw: RawQueue


class Times(NamedTuple):
    """Microseconds for one item."""

    ours: float
    raw: float


class Part(NamedTuple):
    name: str
    run: Callable[[Pair, int], Awaitable[Times]]
    size: int
    goal: float | None = None


def measure(quick: bool) -> list[Row]:
    """Every part at both durabilities, then how a claim bears a long queue in front of it."""
    part = 10 if quick else 1
    parts = [
        Part("add one by one", add_single, 500 // part),
        Part("add, 1,000 at once", add_bulk, 1000),
        Part("claim + complete, 1 worker", one_worker, 500 // part, goal=2.0),
        Part("claim + complete, 8 workers", many_workers, 1600 // part, goal=2.0),
        Part("cascade, chain", chain, 1000 // part),
        Part("cascade, layers of 100, each needs 3", layers, 10_000 // part),
        Part("append an event", append_single, 500 // part),
        Part("append an event, 100 at once", append_batch, 5000 // part),
        Part("counts, whole call", count, 10_000 // part),
    ]
    rows = [_row(part, durability) for durability in ("full", "normal") for part in parts]
    return [*rows, asyncio.run(_past_the_blocked(100_000 // part))]


async def add_single(pair: Pair, size: int) -> Times:
    tasks = [_task(number) for number in range(size)]
    with _timed(size) as ours:
        for task in tasks:
            await pair.ours.write(Write(tasks=[task], events=[_event("task.added", task)]))
    with _timed(size) as raw:
        for number in range(size):
            pair.raw.add([number])
    return Times(ours(), raw())


async def add_bulk(pair: Pair, size: int) -> Times:
    tasks = [_task(number) for number in range(size)]
    with _timed(size) as ours:
        events = [_event("task.added", task) for task in tasks]
        await pair.ours.write(Write(tasks=tasks, events=events))
    with _timed(size) as raw:
        pair.raw.add(range(size))
    return Times(ours(), raw())


async def one_worker(pair: Pair, size: int) -> Times:
    return await _worked(pair, size, (), at_once=1)


async def many_workers(pair: Pair, size: int) -> Times:
    return await _worked(pair, size, (), at_once=AT_ONCE)


async def chain(pair: Pair, size: int) -> Times:
    return await _worked(pair, size, [(n, n - 1) for n in range(1, size)], at_once=1)


async def layers(pair: Pair, size: int) -> Times:
    chance = random.Random(1)
    below = [range((n // 100 - 1) * 100, n // 100 * 100) for n in range(100, size)]
    needs = [(n + 100, need) for n, row in enumerate(below) for need in chance.sample(row, 3)]
    return await _worked(pair, size, needs, at_once=AT_ONCE)


async def append_single(pair: Pair, size: int) -> Times:
    await pair.ours.write(Write(tasks=[_task(1)]))
    told = _event("run.said", _task(1))
    with _timed(size) as ours:
        for _ in range(size):
            await pair.ours.write(Write(events=[told]))
    with _timed(size) as raw:
        for _ in range(size):
            pair.raw.tell(1)
    return Times(ours(), raw())


async def append_batch(pair: Pair, size: int) -> Times:
    told = [_event("run.said", _task(1))] * 100
    with _timed(size) as ours:
        for _ in range(size // 100):
            await pair.ours.write(Write(events=told))
    with _timed(size) as raw:
        for _ in range(size // 100):
            pair.raw.tell(100)
    return Times(ours(), raw())


async def count(pair: Pair, size: int) -> Times:
    await _fill(pair, size, ())
    with _timed(1) as ours:
        await pair.ours.counts()
    with _timed(1) as raw:
        pair.raw.counts()
    return Times(ours(), raw())


async def _worked(pair: Pair, size: int, needs: Needs, *, at_once: int) -> Times:
    """Every task claimed and completed; raw shares a commit among as many as work at once."""
    await _fill(pair, size, needs)
    with _timed(size) as ours:
        await asyncio.gather(*(_work(pair.ours, seat, size) for seat in SEATS[:at_once]))
    with _timed(size) as raw:
        while claimed := pair.raw.claim(at_once):
            pair.raw.complete(claimed)
    assert await pair.ours.counts() == {"completed": size}
    return Times(ours(), raw())


async def _work(store: SqliteStore, seat: Seat, size: int) -> None:
    while True:
        seen = await store.last_seq()
        claims = await store.claim([seat], Want(), lease=LEASE)
        if claims:
            await store.write(_completed(claims[0]))
        elif (await store.counts()).get("completed") == size:
            return
        else:
            await store.changed(seen, within=1)


async def _fill(pair: Pair, size: int, needs: Needs) -> None:
    by_task: dict[int, list[str]] = {}
    for task, need in needs:
        by_task.setdefault(task, []).append(f"t{need}")
    await pair.ours.write(Write(tasks=[_task(n, by_task.get(n, ())) for n in range(size)]))
    pair.raw.add(range(size), needs)


async def _past_the_blocked(blocked: int) -> Row:
    """One ready task behind many more urgent ones that wait, beside the same behind ten."""
    name = f"claim past {blocked:,} blocked, beside 10 blocked"
    return Row(name, await _claim_behind(blocked), await _claim_behind(10), "us", 1.5)


async def _claim_behind(blocked: int) -> float:
    rounds = 100
    gate = _task(0).evolve(paused=True)
    ready = [_task(n).evolve(priority=1) for n in range(1, rounds + 1)]
    waiting = [_task(n, ["t0"]).evolve(priority=5) for n in range(1000, 1000 + blocked)]
    times = []
    async with _pair("normal") as pair:
        await pair.ours.write(Write(tasks=[gate, *ready, *waiting]))
        for _ in range(rounds):
            with _timed(1) as took:
                assert await pair.ours.claim(SEATS[:1], Want(), lease=LEASE)
            times.append(took())
    return median(times)


def _row(part: Part, durability: Durability) -> Row:
    times = [asyncio.run(_once(part, durability)) for _ in range(ROUNDS)]
    ours, raw = (median(column) for column in zip(*times, strict=True))
    return Row(f"{part.name} ({part.size:,}), {durability}", ours, raw, "us", part.goal)


async def _once(part: Part, durability: Durability) -> Times:
    async with _pair(durability) as pair:
        return await part.run(pair, part.size)


@asynccontextmanager
async def _pair(durability: Durability) -> AsyncIterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        path = Path(folder)
        ours = SqliteStore.open(path / "ours.db", clock=RealClock(), durability=durability)
        raw = RawQueue(path / "raw.db", durability, _task(0).model_dump_json())
        yield Pair(ours, raw)
        raw.close()
        await ours.close()


@contextmanager
def _timed(items: int) -> Iterator[Callable[[], float]]:
    """Microseconds for each item, to be asked for afterwards."""
    took = 0.0
    begin = time.perf_counter()
    yield lambda: 1e6 * took / items
    took = time.perf_counter() - begin


def _task(number: int, needs: Sequence[str] = ()) -> Task:
    return Task(
        id=TaskId(f"t{number}"),
        title="Extract the mailer",
        prompt=PROMPT,
        repo="shop",
        needs=tuple(needs),
        created_at=NOW,
        updated_at=NOW,
    )


def _event(kind: str, task: Task) -> Event:
    return Event(at=NOW, kind=kind, task=task.id, text=task.title)


def _completed(claimed: Claim) -> Write:
    task = move(claimed.task, Verb.COMPLETE, fence=claimed.task.fence + 1)
    return Write(
        tasks=[task],
        runs=[end(claimed.run, Outcome.SUBMITTED, NOW)],
        events=[_event("task.completed", task)],
        fences={task.id: claimed.task.fence},
    )
