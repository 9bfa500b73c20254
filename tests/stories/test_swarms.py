"""A swarm at work: real scripted agents that post, get mail, and are dismissed."""

import asyncio
import shlex
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from codefleet.domain.words import State
from codefleet.domain.worker import WorkerState
from codefleet.fleet import Fleet
from codefleet.runner.process.identity import Process
from tests.gitrepo import SampleRepo
from tests.script import script
from tests.stories.conftest import BOUND_S, Crew

pytestmark = pytest.mark.slow


def fleet_command(fleet: Fleet, *words: str) -> str:
    """A step in which the agent calls the command line, which knows whose process it is."""
    call = [sys.executable, "-m", "codefleet", "--home", str(fleet.home), *words]
    return f"shell {shlex.join(call)}"


async def test_a_worker_posts_and_its_dismissal_ends_all_its_processes_and_keeps_its_work(
    fleet: Fleet, repo: SampleRepo, crew: Crew, tmp_path: Path
) -> None:
    swarm = await fleet.create_swarm("hive", max_agents=2)
    pid = tmp_path / "pid"
    steps = [
        fleet_command(fleet, "blackboard-post", swarm.id, "scout", "status", '{"found": "it"}'),
        "write found.txt it",
        f"shell sleep 600 & echo $! > {pid}",
        "hang",
    ]
    task = await fleet.spawn("scout", script(*steps), swarm=swarm.id)
    loop = crew.loop(1)
    running = asyncio.create_task(loop.run())

    async def has_started_a_child() -> bool:
        return pid.exists() and bool(pid.read_text().strip())

    async def has_ended() -> bool:
        return (await fleet.worker("scout")).state is WorkerState.STOPPED

    try:
        await crew.wait_for(has_started_a_child)
        child = Process.find(int(pid.read_text()))
        assert child is not None
        worker = await fleet.worker("scout")
        assert (worker.state, worker.swarm) == (WorkerState.WORKING, swarm.id)
        (post,) = await fleet.read_posts(swarm.id)
        assert (post.sender, post.payload) == ("scout", {"found": "it"})
        assert (await fleet.dismiss("scout")).state is State.CANCELLED
        await asyncio.wait_for(child.ended(), BOUND_S)
        await crew.wait_for(has_ended)
    finally:
        loop.stop()
        await asyncio.wait_for(running, BOUND_S)
    assert repo.saved("found.txt") == {"it\n"}
    assert (await fleet.get(task.id)).state is State.CANCELLED


async def test_an_agent_cannot_post_as_another_through_the_command_line(
    fleet: Fleet, crew: Crew
) -> None:
    swarm = await fleet.create_swarm("hive")
    forged = fleet_command(fleet, "blackboard-post", swarm.id, "boss", "directive", "{}")
    await fleet.spawn("scout", script(f"{forged} 2> refusal.txt || true"), swarm=swarm.id)
    await crew.work(agents=1)
    assert await fleet.read_posts(swarm.id) == []


async def test_a_swarm_works_off_more_tasks_than_it_may_have_agents(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    swarm = await fleet.create_swarm("hive", max_agents=1)
    for name in ("one", "two", "three"):
        await fleet.spawn(name, script(f"write {name}.txt x"), swarm=swarm.id)
    await crew.work(agents=3)
    for name in ("one", "two", "three"):
        assert repo.read("main", f"{name}.txt") == "x\n"
    runs = sorted(await fleet.core.store.runs(), key=lambda run: run.started_at)
    for earlier, later in pairwise(runs):
        assert earlier.ended_at is not None
        assert earlier.ended_at <= later.started_at
