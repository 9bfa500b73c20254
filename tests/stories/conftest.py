"""A fleet, a repository and a runner for stories: everything is real except the model."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Draft, Task
from codefleet.domain.validation import checked
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.context import Context
from codefleet.runner.loop import Loop
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.gitrepo import SampleRepo, make_repo
from tests.script import script

BOUND_S = 60.0
FLAGS: dict[str, object] = {"rest_s": 0.0, "grace_s": 2.0, "durability": "normal"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    return make_repo(tmp_path / "shop", {"README.md": "A shop.\n", "src/till.py": "TOTAL = 0\n"})


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True, flags=FLAGS) as fleet:
        await register(fleet, repo.path)
        yield fleet


class Crew:
    """A runner in this process."""

    def __init__(self, fleet: Fleet, bound_s: float = BOUND_S) -> None:
        self.fleet, self.bound_s = fleet, bound_s

    async def work(self, agents: int = 2, **flags: object) -> None:
        """Work until there is nothing left to do."""
        loop = self.loop(agents, until_idle=True, **flags)
        async with asyncio.timeout(self.bound_s):
            await loop.run()

    def loop(self, agents: int | None = 2, *, until_idle: bool = False, **flags: object) -> Loop:
        return Loop(Context(self.fleet, {**FLAGS, **flags}), agents=agents, until_idle=until_idle)

    async def until(
        self,
        loop: Loop,
        condition: Callable[[], Awaitable[object]],
    ) -> None:
        """Run a loop in the background until the condition holds, then stop it gracefully."""
        running = asyncio.create_task(loop.run())
        try:
            await self.wait_for(condition)
        finally:
            loop.stop()
            await asyncio.wait_for(running, self.bound_s)

    async def wait_for(self, condition: Callable[[], Awaitable[object]]) -> None:
        async with asyncio.timeout(self.bound_s):
            while not await condition():
                await asyncio.sleep(0.01)


@pytest.fixture
def crew(fleet: Fleet) -> Crew:
    return Crew(fleet)


@pytest.fixture
def add(fleet: Fleet) -> Callable[..., Awaitable[Task]]:
    async def one(title: str, *steps: str, **fields: object) -> Task:
        draft = checked(Draft, {"title": title, "prompt": script(*steps), **fields})
        return (await fleet.add([draft]))[0]

    return one


@pytest.fixture
def state_of(fleet: Fleet) -> Callable[[Task], Awaitable[State]]:
    async def state(task: Task) -> State:
        return (await fleet.get(task.id)).state

    return state
