"""Machines that are nearly full: agents start one by one, and the reason is shown."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import BOUND_S, Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]


async def test_without_memory_to_spare_agents_work_one_after_the_other(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    first = await add("First", f"wait until {gate}", "write a.txt a", priority=5)
    second = await add("Second", "write b.txt b")

    async def second_waits_for_memory() -> bool:
        waiting = (await fleet.status()).waiting
        return [w.text for w in waiting if w.text.startswith("waits for memory: 0 MB free")] != []

    async def both_done() -> bool:
        tasks = [await fleet.get(task.id) for task in (first, second)]
        return all(task.state is State.COMPLETED for task in tasks)

    loop = crew.loop(agents=2, memory_reserve_mb=10**9)
    running = asyncio.create_task(loop.run())
    await crew.wait_for(second_waits_for_memory)
    assert (await fleet.get(second.id)).runs == 0
    assert (await fleet.why([second]))[second.id].text.endswith("scripted needs 30 MB")
    gate.touch()
    await crew.wait_for(both_done)
    loop.stop()
    await asyncio.wait_for(running, BOUND_S)
    assert repo.read("main", "b.txt") == "b\n"


async def test_the_most_memory_that_a_run_took_is_measured_with_its_children(
    fleet: Fleet, crew: Crew, add: Add, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    child = f"big = b'x' * (200 << 20)\nopen('{gate}').read()\n"  # returns once we open it too
    (tmp_path / "child.py").write_text(child)
    task = await add("Hungry", f"shell python3 {tmp_path}/child.py", "write a.txt a")

    async def measured() -> bool:
        return any(run.memory_mb >= 200 for run in await fleet.runs_of(task.id))

    loop = crew.loop(lease_s=2)  # the measurement is recorded when the lease is renewed
    running = asyncio.create_task(loop.run())
    await crew.wait_for(measured)
    gate.write_text("go")
    await crew.wait_for(lambda: completed(fleet, task))
    loop.stop()
    await asyncio.wait_for(running, BOUND_S)
    assert await measured()


async def completed(fleet: Fleet, task: Task) -> bool:
    return (await fleet.get(task.id)).state is State.COMPLETED
