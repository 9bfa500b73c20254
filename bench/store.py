"""The SQLite store next to a raw loop of the same durability. bench/raw.py describes raw."""

import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.apart import Needs, Raw, RawApart
from bench.raw import RawQueue, RawRuns
from bench.row import Row
from codefleet.domain.lifecycle import Claim, Seat, Verb, claim, end, move
from codefleet.domain.model import Event, RunnerId, Task, TaskId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import Outcome
from codefleet.ports import Store, Write
from codefleet.store.sqlite.database import Durability
from codefleet.store.sqlite.store import SqliteStore

ROUNDS = 5
TURNS = 5
DURABILITIES: tuple[Durability, ...] = ("full", "normal")
AT_ONCE = 8
LEASE = timedelta(minutes=5)
NOW = datetime.now(UTC)
PROMPT = "Extract the mailer into a module of its own and cover it with tests. " * 8
SEATS = [Seat(f"agent-{n}", RunnerId("bench"), "here", "scripted") for n in range(AT_ONCE)]


class RealClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class Stores(NamedTuple):
    """Ours and the raw ones, all fresh."""

    ours: Store
    raw: Raw
    raw_runs: Raw | None = None
    raw_apart: RawApart | None = None


class Times(NamedTuple):
    """Microseconds per item: `runs` if they are part of the work, `apart` if many work at once."""

    ours: float
    raw: float
    raw_runs: float | None = None
    raw_apart: float | None = None


class Part(NamedTuple):
    name: str
    run: Callable[[Stores, int], Awaitable[Times]]
    size: int
    goal: float | None = None


def measure(quick: bool) -> list[Row]:
    """Every part at both durabilities, then how a claim copes with a long queue in front of it."""
    part = 10 if quick else 1
    rows = [row for how in DURABILITIES for one in parts(quick) for row in _rows(one, how)]
    return [*rows, asyncio.run(_past_the_blocked(100_000 // part))]


def parts(quick: bool) -> list[Part]:
    """What a store is measured by, whatever its engine."""
    part = 10 if quick else 1
    return [
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


async def add_single(stores: Stores, size: int) -> Times:
    tasks = iter([a_task(number) for number in range(size)])
    numbers = iter(range(size))

    async def ours(many: int) -> None:
        for task in islice(tasks, many):
            await stores.ours.write(Write(tasks=[task], events=[an_event("task.added", task)]))

    async def raw(many: int) -> None:
        for number in islice(numbers, many):
            stores.raw.add([number])

    return await _in_turns(size, ours, raw)


async def add_bulk(stores: Stores, size: int) -> Times:
    tasks = iter([a_task(number) for number in range(TURNS * size)])
    numbers = iter(range(TURNS * size))

    async def ours(many: int) -> None:
        batch = list(islice(tasks, many))
        events = [an_event("task.added", task) for task in batch]
        await stores.ours.write(Write(tasks=batch, events=events))

    async def raw(many: int) -> None:
        stores.raw.add(islice(numbers, many))

    return await _in_turns(TURNS * size, ours, raw)


async def one_worker(stores: Stores, size: int) -> Times:
    return await _worked(stores, size, (), at_once=1)


async def many_workers(stores: Stores, size: int) -> Times:
    if not stores.raw_apart:
        return await _worked(stores, size, (), at_once=AT_ONCE)
    stores.raw_apart.add(range(size))
    return await _worked(stores, size, (), at_once=AT_ONCE, apart=stores.raw_apart)


async def chain(stores: Stores, size: int) -> Times:
    return await _worked(stores, size, [(n, n - 1) for n in range(1, size)], at_once=1)


async def layers(stores: Stores, size: int) -> Times:
    chance = random.Random(1)
    below = [range((n // 100 - 1) * 100, n // 100 * 100) for n in range(100, size)]
    needs = [(n + 100, need) for n, row in enumerate(below) for need in chance.sample(row, 3)]
    return await _worked(stores, size, needs, at_once=AT_ONCE)


async def append_single(stores: Stores, size: int) -> Times:
    return await _appended(stores, size, at_once=1)


async def append_batch(stores: Stores, size: int) -> Times:
    return await _appended(stores, size, at_once=100)


async def count(stores: Stores, size: int) -> Times:
    await _fill(stores, size, ())

    async def ours(_: int) -> None:
        await stores.ours.counts()

    async def raw(_: int) -> None:
        stores.raw.counts()

    return await _in_turns(TURNS, ours, raw)


async def _in_turns(size: int, *works: Callable[[int], Awaitable[None]]) -> Times:
    """Each does a share in turn, so that a busy machine affects all alike; medians."""
    share = size // TURNS
    took: list[list[float]] = [[] for _ in works]
    for _ in range(TURNS):
        for work, times in zip(works, took, strict=True):
            with _timed(share) as one:
                await work(share)
            times.append(one())
    return Times(*map(median, took))


async def _appended(stores: Stores, size: int, *, at_once: int) -> Times:
    told = [an_event("run.said", a_task(1))] * at_once

    async def ours(many: int) -> None:
        for _ in range(many // at_once):
            await stores.ours.write(Write(events=told))

    async def raw(many: int) -> None:
        for _ in range(many // at_once):
            stores.raw.tell(at_once)

    return await _in_turns(size, ours, raw)


async def _worked(
    stores: Stores, size: int, needs: Needs, *, at_once: int, apart: RawApart | None = None
) -> Times:
    """Every task claimed and completed; raw shares a commit among as many as work at once."""
    await _fill(stores, size, needs)

    async def ours(many: int) -> None:
        left = iter(range(many))
        await asyncio.gather(*(work_off(stores.ours, seat, left) for seat in SEATS[:at_once]))

    async def raw(many: int) -> None:
        _work_raw(stores.raw, many, at_once)

    async def raw_runs(many: int) -> None:
        assert stores.raw_runs
        _work_raw(stores.raw_runs, many, at_once)

    async def raw_apart(many: int) -> None:
        assert apart
        apart.work(many)

    others = [*([raw_runs] if stores.raw_runs else []), *([raw_apart] if apart else [])]
    times = await _in_turns(size, ours, raw, *others)
    assert await stores.ours.counts() == {"completed": size}
    return times


async def work_off(store: Store, seat: Seat, left: Iterator[int]) -> None:
    """Claim and complete one task after another, as long as any are left."""
    for _ in left:
        while not (claims := await store.claim([seat], ClaimFilter(), lease=LEASE)):
            seen = await store.last_seq()
            if claims := await store.claim([seat], ClaimFilter(), lease=LEASE):
                break
            await store.changed(seen, within=1)
        await store.write(completed(claims[0]))


def _work_raw(queue: Raw, many: int, at_once: int) -> None:
    while many:
        claimed = queue.claim(min(at_once, many))
        queue.complete(claimed)
        many -= len(claimed)


async def _fill(stores: Stores, size: int, needs: Needs) -> None:
    by_task: dict[int, list[str]] = {}
    for task, need in needs:
        by_task.setdefault(task, []).append(f"t{need}")
    await stores.ours.write(Write(tasks=[a_task(n, by_task.get(n, ())) for n in range(size)]))
    stores.raw.add(range(size), needs)
    if stores.raw_runs:
        stores.raw_runs.add(range(size), needs)


async def _past_the_blocked(blocked: int) -> Row:
    """One ready task behind many more urgent waiting ones, alternating with one behind ten."""
    rounds = 100
    name = f"claim past {blocked:,} blocked, beside 10 blocked"
    async with _stores("normal") as long, _stores("normal") as short:
        await _queue(long, rounds, blocked)
        await _queue(short, rounds, 10)
        times = [(await _claim(long), await _claim(short)) for _ in range(rounds)]
    return Row(name, median(one for one, _ in times), median(one for _, one in times), "us", 1.5)


async def _queue(stores: Stores, ready: int, blocked: int) -> None:
    gate = a_task(0).evolve(paused=True)
    free = [a_task(n).evolve(priority=1) for n in range(1, ready + 1)]
    waiting = [a_task(n, ["t0"]).evolve(priority=5) for n in range(1000, 1000 + blocked)]
    await stores.ours.write(Write(tasks=[gate, *free, *waiting]))


async def _claim(stores: Stores) -> float:
    with _timed(1) as took:
        assert await stores.ours.claim(SEATS[:1], ClaimFilter(), lease=LEASE)
    return took()


def _rows(part: Part, durability: Durability) -> Iterator[Row]:
    times = [asyncio.run(_once(part, durability)) for _ in range(ROUNDS)]
    return rows_of(f"{part.name} ({part.size:,}), {durability}", times, part.goal)


def rows_of(name: str, times: Sequence[Times], goal: float | None) -> Iterator[Row]:
    """Ours next to raw and, where runs are part of the work, next to raw with runs."""
    ours = median(one.ours for one in times)
    yield Row(name, ours, median(one.raw for one in times), "us", goal)
    if with_runs := [one.raw_runs for one in times if one.raw_runs is not None]:
        yield Row("  the same, beside raw with runs", ours, median(with_runs), "us", goal)
    if apart := [one.raw_apart for one in times if one.raw_apart is not None]:
        name = "  the same, beside eight raw loops that commit apart"
        yield Row(name, ours, median(apart), "us", None)


async def _once(part: Part, durability: Durability) -> Times:
    async with _stores(durability) as stores:
        return await part.run(stores, part.size)


@asynccontextmanager
async def _stores(durability: Durability) -> AsyncIterator[Stores]:
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        path = Path(folder)
        ours = SqliteStore.open(path / "ours.db", clock=RealClock(), durability=durability)
        raw = RawQueue(path / "raw.db", durability, BODY)
        raw_runs = RawRuns(path / "raw_runs.db", durability, BODY, RUN_BODY)
        apart = path / "raw_apart.db"
        loops = [RawQueue(apart, durability, BODY, new=not n) for n in range(AT_ONCE)]
        raw_apart = RawApart(loops)
        yield Stores(ours, raw, raw_runs, raw_apart)
        raw_apart.close()
        raw_runs.close()
        raw.close()
        await ours.close()


@contextmanager
def _timed(items: int) -> Iterator[Callable[[], float]]:
    """Microseconds per item, available afterwards."""
    took = 0.0
    begin = time.perf_counter()
    yield lambda: 1e6 * took / items
    took = time.perf_counter() - begin


def a_task(number: int, needs: Sequence[str] = ()) -> Task:
    return Task(
        id=TaskId(f"t{number}"),
        title="Extract the mailer",
        prompt=PROMPT,
        repo="shop",
        needs=tuple(needs),
        created_at=NOW,
        updated_at=NOW,
    )


BODY = a_task(0).json()
RUN_BODY = claim(a_task(0), SEATS[0], NOW, NOW + LEASE, None).run.json()


def an_event(kind: str, task: Task) -> Event:
    return Event(at=NOW, kind=kind, task=task.id, text=task.title)


def completed(claimed: Claim) -> Write:
    task = move(claimed.task, Verb.COMPLETE, fence=claimed.task.fence + 1)
    return Write(
        tasks=[task],
        runs=[end(claimed.run, Outcome.SUBMITTED, NOW)],
        events=[an_event("task.completed", task)],
        fences={task.id: claimed.task.fence},
    )
