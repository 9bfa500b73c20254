"""The contract with real processes: together on one store, and killed at any moment."""

import asyncio
import random
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from codefleet.domain.words import State
from codefleet.ports import Store, TaskQuery, Write
from tests.store.conftest import Place
from tests.store.kinds import KINDS
from tests.store.samples import RealClock, add, event, task

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def workers(
    place: Place, action: str, count: int = 0, *, many: int = 1
) -> AsyncIterator[Sequence[Process]]:
    """Other processes on the store, started at the same moment and killed at the end."""
    words = [sys.executable, "-m", "tests.store.worker", *place, action, str(count)]
    started = [
        await asyncio.create_subprocess_exec(*words, cwd=ROOT, stdin=PIPE, stdout=PIPE)
        for _ in range(many)
    ]
    try:
        for process in started:
            assert await line(process) == "ready"
        for process in started:
            assert process.stdin
            process.stdin.write(b"go\n")
        yield started
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
            await process.communicate()


async def line(process: Process) -> str:
    assert process.stdout
    async with asyncio.timeout(60):
        return (await process.stdout.readline()).decode().strip()


async def rest(process: Process) -> list[str]:
    """All lines until the process ends; a truncated last line does not count."""
    assert process.stdout
    async with asyncio.timeout(60):
        said = (await process.stdout.read()).decode()
    return said.split("\n")[:-1]


async def finished(process: Process) -> list[str]:
    """All lines of a process that ended well."""
    said = await rest(process)
    async with asyncio.timeout(60):
        assert await process.wait() == 0
    return said


@pytest.fixture
async def here(place: Place) -> AsyncIterator[Store]:
    """This process's own connection, with the same clock as the others."""
    store = place.open(RealClock())
    yield store
    await store.close()


async def test_each_task_goes_to_exactly_one_of_many_processes(place: Place, here: Store) -> None:
    names = [f"t{number:03}" for number in range(120)]
    await add(here, *(task(name) for name in names))
    async with workers(place, "drain", many=3) as processes:
        shares = [await finished(process) for process in processes]
    assert sorted(name for share in shares for name in share) == names
    assert await here.counts() == {"completed": 120}
    assert len(await here.runs()) == 120


async def test_a_reader_never_sees_a_seq_out_of_order_while_processes_write(
    place: Place, here: Store
) -> None:
    seen: list[int] = []
    async with workers(place, "append", 60, many=3) as processes:
        said = asyncio.gather(*(finished(process) for process in processes))
        while len(seen) < 180:
            async with asyncio.timeout(60):
                await here.changed(len(seen), within=60)
            seen += [one.seq for one in await here.events(after=seen[-1] if seen else 0)]
        acknowledged = [int(seq) for lines in await said for seq in lines]
    assert seen == list(range(1, 181))
    assert sorted(acknowledged) == seen


async def test_several_processes_may_open_a_store_that_is_not_there_yet(
    kind: str, tmp_path: Path
) -> None:
    empty = Place(kind, KINDS[kind].empty(tmp_path))
    async with workers(empty, "append", 1, many=4) as processes:
        said = [await finished(process) for process in processes]
    assert sorted(said) == [["1"], ["2"], ["3"], ["4"]]


async def test_a_waiting_reader_wakes_when_another_process_writes(
    place: Place, here: Store
) -> None:
    async with workers(place, "append", 1) as (process,):
        async with asyncio.timeout(60):
            assert await here.changed(0, within=60) is True
        assert await finished(process) == ["1"]
    assert await here.last_seq() == 1


async def test_a_killed_writer_leaves_a_consistent_store_with_all_it_was_told_is_stored(
    place: Place, here: Store
) -> None:
    acknowledged: list[str] = []
    for _ in range(5):
        async with workers(place, "churn", many=2) as processes:
            for process in processes:
                acknowledged += [await line(process) for _ in range(random.randint(1, 60))]
                process.kill()
                acknowledged += await rest(process)
        store = place.open(RealClock())
        await at_rest(store)
        await assert_consistent(store, acknowledged)
        await store.close()
    assert len(acknowledged) >= 10
    (told,) = await here.write(Write(events=[event("still works")]))
    assert told.seq == await here.last_seq()


async def at_rest(store: Store) -> None:
    """Wait until nothing is written: a server finishes what a killed writer asked of it."""
    async with asyncio.timeout(60):
        while await store.changed(await store.last_seq(), within=0.5):
            pass


async def assert_consistent(store: Store, acknowledged: Sequence[str]) -> None:
    """What was acknowledged is there, and all stored values are consistent."""
    tasks = {found.id: found for found in await store.tasks(TaskQuery())}
    for word, _, name in (said.partition(" ") for said in acknowledged):
        found = tasks[name]  # type: ignore[index]  # a plain string is an id here
        assert word == "added" or found.state is State.COMPLETED
    pending = [found.id for found in tasks.values() if found.state is State.PENDING]
    unmet = await store.unmet(pending)
    blocked = {name for name in pending if unmet[name]}
    ready = {found.id for found in await store.tasks(TaskQuery(ready=True))}
    assert ready == set(pending) - blocked
    assert (await store.counts()).get("blocked", 0) == len(blocked)
    live = [run.task for run in await store.runs(live=True)]
    assert sorted(live) == sorted(t.id for t in tasks.values() if t.state is State.RUNNING)
    seqs = [one.seq for one in await store.events(limit=100_000)]
    assert seqs == sorted(set(seqs))
