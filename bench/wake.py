"""How soon a waiting runner in another process starts a task that has just become ready."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from statistics import median

from bench.row import Row
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, Event, Run, RunnerId, Task
from codefleet.domain.scheduling import ClaimFilter
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet

GOAL = 100.0
US = Seat("bench", RunnerId("r-bench"), "bench", "scripted")
SCRIPT = "```fleet\nfinish --no-changes\n```"


def measure(quick: bool) -> list[Row]:
    """Milliseconds from the end of one task to the start of the next; raw is the goal itself."""
    rounds = 5 if quick else 30
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        needs, scope = asyncio.run(_both(Path(folder), rounds))
    return [
        Row("dependent started by another process, after its need", needs, GOAL, "ms", 1.0),
        Row("task started by another process, after its scope is free", scope, GOAL, "ms", 1.0),
    ]


async def _both(folder: Path, rounds: int) -> tuple[float, float]:
    repo = sample(folder / "repo")
    async with open_fleet(folder / "home", create=True) as fleet:
        await register(fleet, repo)
        runner = _start_runner(folder / "home")
        try:
            await _seen(fleet, lambda event: event.kind == "runner.started")
            needs = [await _round(fleet, _with_need) for _ in range(rounds)]
            scope = [await _round(fleet, _with_scope) for _ in range(rounds)]
        finally:
            runner.terminate()
            runner.wait(30)
    return median(needs), median(scope)


async def _round(fleet: Fleet, waiting: Callable[[Fleet, Task], Awaitable[Task]]) -> float:
    """We hold one task and another needs it; we complete ours and see when the other starts."""
    draft = Draft(title="First", assignee=US.agent, scope=("a/**",))
    (first,) = await fleet.add([draft])
    run = await _claim(fleet, first)
    second = await waiting(fleet, first)
    await Dispatch(fleet).complete(run)
    ended = await _seen(fleet, lambda event: event.task == first.id and "completed" in event.kind)
    begun = await _seen(fleet, lambda event: event.task == second.id and "started" in event.kind)
    await _seen(fleet, lambda event: event.task == second.id and "completed" in event.kind)
    return (begun.at - ended.at) / timedelta(milliseconds=1)


async def _claim(fleet: Fleet, task: Task) -> Run:
    (claim,) = await Dispatch(fleet).claim([US], ClaimFilter(tasks=(task.id,)))
    return claim.run


async def _with_need(fleet: Fleet, first: Task) -> Task:
    return (await fleet.add([Draft(title="Second", needs=(first.id,), prompt=SCRIPT)]))[0]


async def _with_scope(fleet: Fleet, first: Task) -> Task:
    return (await fleet.add([Draft(title="Second", scope=("a/b",), prompt=SCRIPT)]))[0]


async def _seen(fleet: Fleet, wanted: Callable[[Event], bool]) -> Event:
    async with asyncio.timeout(30):
        async for event in fleet.follow():
            if wanted(event):
                return event
    raise AssertionError


def _start_runner(home: Path) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "codefleet", "--home", str(home), "run", "--agents=1"]
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def sample(repo: Path) -> Path:
    repo.mkdir()
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        (*identity, "commit", "--quiet", "--allow-empty", "--message=first"),
    ):
        subprocess.run(["git", *words], cwd=repo, check=True)
    return repo
