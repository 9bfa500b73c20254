"""A fleet whose agents are a real program, with a scripted model server in place of a model."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import tomlkit

from codefleet.domain.model import Draft, Run, Task
from codefleet.domain.validation import checked
from codefleet.fleet import Fleet
from codefleet.runner.paths import Paths
from codefleet.runner.process.custody import AgentProcess, Exit, adopt
from codefleet.runner.repos import register
from codefleet.testing.model_server import ModelServer, prompt
from codefleet.wiring import open_fleet
from tests.faults.conftest import agents_alive, kill_agents
from tests.gitrepo import SampleRepo, make_repo
from tests.programs.install import INSTALL_WITHIN_S, NotInstallable, program
from tests.programs.setups import Options, options, over_acp
from tests.stories.conftest import Crew

BOUND_S = 180.0
"""A program may take half a minute for a few steps on a busy machine."""
FIRST_TIME_S = INSTALL_WITHIN_S + 2 * BOUND_S
"""Whichever story comes first installs the program."""
SETTINGS: dict[str, object] = {"rest_s": 0.0, "durability": "normal"}
MODELS = {"gemini": "gemini-2.5-pro"}
"""Named because otherwise the program would spend a request on choosing one."""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    return make_repo(tmp_path / "shop", {"README.md": "A shop.\n", "src/till.py": "TOTAL = 0\n"})


class Station:
    """One program at work: tasks for it, its runs, and what it left behind."""

    bound_s = BOUND_S

    def __init__(
        self, name: str, coder: str, fleet: Fleet, server: ModelServer, given: Options
    ) -> None:
        self.coder = coder
        self.name, self.fleet, self.home, self.server = name, fleet, fleet.home, server
        self.crew = Crew(fleet, self.bound_s)
        self.scratch = Path(given["env"]["TMPDIR"])
        self._given = given
        self.configure()

    def configure(self, more: Options | None = None, **others: object) -> None:
        """Write the fleet's settings, with these options for the program besides its own."""
        more = more or {}
        env = {**self._given["env"], **more.get("env", {})}
        self._given = {**self._given, **more, "env": env}
        chosen = {"coder": self.coder, "coders": {self.coder: self._given}}
        settings = {**SETTINGS, **others, **chosen}
        (self.home / "fleet.toml").write_text(tomlkit.dumps(settings))

    async def add(self, title: str, *scripts: list[dict[str, object]], **fields: object) -> Task:
        """A task whose prompt has these scripts: for its first turn in a session, its second."""
        words = "\n".join([f"Please do this: {title}.", *(prompt(*steps) for steps in scripts)])
        given = {"title": title, "prompt": words, "model": MODELS.get(self.name), **fields}
        return (await self.fleet.add([checked(Draft, given)]))[0]

    async def until(self, condition: Callable[[], object]) -> None:
        async def holds() -> object:
            return condition()

        await self.crew.wait_for(holds)

    async def task(self, task: Task) -> Task:
        return await self.fleet.get(task.id)

    async def runs(self, task: Task) -> list[Run]:
        return list(await self.fleet.runs_of(task.id))

    async def kept(self, run: Run) -> AgentProcess:
        kept = await adopt(Paths(self.home).run(run))
        assert kept
        return kept

    async def exit(self, run: Run) -> Exit:
        return await (await self.kept(run)).ended()

    def left_behind(self) -> list[str]:
        """The processes that belong to a run and are still alive."""
        return [str(process) for process in agents_alive(self.home)]


@pytest.fixture
async def station(
    request: pytest.FixtureRequest, tmp_path: Path, repo: SampleRepo, server: ModelServer
) -> AsyncIterator[Station]:
    """The station of the program that the test's class names."""
    name: str = request.cls.program
    given = installed(name, server.url, tmp_path / "program")
    coder = name
    if request.cls.acp:
        coder, given = "acp", over_acp(given, request.cls.acp)
    async with open_fleet(tmp_path / "home", create=True) as fleet:
        await register(fleet, repo.path)
        station = Station(name, coder, fleet, server, given)
        yield station
        kill_agents(station.home)


def installed(name: str, url: str, folder: Path) -> Options:
    """The options of a program; if it is not available, skip on a laptop and fail in CI."""
    at_hand(name)
    return options(name, url, folder)


def at_hand(name: str) -> Path:
    """The path of a program from npm; if it is not available, skip on a laptop and fail in CI."""
    try:
        return program(name)
    except NotInstallable as why:
        if os.environ.get("CI"):
            pytest.fail(str(why))
        pytest.skip(str(why))
