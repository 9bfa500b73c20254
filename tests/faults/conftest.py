"""A fleet whose runners are separate processes, to be killed."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from codefleet.fleet import Fleet
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.gitrepo import SampleRepo, make_repo

BOUND_S = 240.0
SETTINGS = 'attempts = 10\nrest_s = 0.0\ngrace_s = 2.0\ndurability = "normal"\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "fleet.toml").write_text(SETTINGS)
    return home


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    return make_repo(tmp_path / "shop", {"README.md": "A shop.\n"})


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True) as fleet:
        await register(fleet, repo.path)
        yield fleet


class Runners:
    """Runners as separate processes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *, agents: int = 4, until_idle: bool = True) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "codefleet", "--home", str(self.home), "run"]
        argv += [f"--agents={agents}", *(["--until-idle"] if until_idle else [])]
        log = (self.home / "runner.log").open("ab")
        runner = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        self.started.append(runner)
        return runner

    def kill(self, runner: subprocess.Popen[bytes]) -> None:
        runner.send_signal(signal.SIGKILL)
        runner.wait(timeout=30)

    async def finished(
        self, runner: subprocess.Popen[bytes], exit_code: int = 0, within_s: float = BOUND_S
    ) -> None:
        """Wait for a runner that stops by itself; if it does not, show its log."""
        try:
            async with asyncio.timeout(within_s):
                code = await asyncio.to_thread(runner.wait, within_s)
        except (TimeoutError, subprocess.TimeoutExpired):
            raise AssertionError((self.home / "runner.log").read_text()[-4000:]) from None
        assert code == exit_code, (self.home / "runner.log").read_text()[-4000:]

    def stop_all(self) -> None:
        for runner in self.started:
            if runner.poll() is None:
                self.kill(runner)


@pytest.fixture
def runners(home: Path) -> Iterator[Runners]:
    runners = Runners(home)
    yield runners
    runners.stop_all()
    kill_agents(home)


def agents_alive(home: Path) -> list[psutil.Process]:
    """Every process that belongs to a run of this fleet: keepers, agents and what they started."""
    runs = {folder.name for folder in (home / "runs").glob("*")}
    return [process for process in psutil.process_iter() if _run_of(process, home) in runs]


def kill_agents(home: Path) -> None:
    """End whatever belongs to a run of this fleet; it may end by itself at any moment."""
    for process in agents_alive(home):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _run_of(process: psutil.Process, home: Path) -> str | None:
    try:
        if process.pid == os.getpid():
            return None
        tag = process.environ().get("FLEET_RUN")
        folders = [Path(word) for word in process.cmdline() if word.startswith(str(home / "runs"))]
        return tag or (folders[0].name if folders else None)
    except psutil.Error:
        return None


async def until(condition: Callable[[], Awaitable[object]], bound_s: float = BOUND_S) -> None:
    async with asyncio.timeout(bound_s):
        while not await condition():
            await asyncio.sleep(0.01)


def landed_tasks(repo: SampleRepo) -> list[str]:
    """The tasks that have landed, according to the trunk's history."""
    trailers = repo.git(
        "log",
        "--first-parent",
        "--format=%(trailers:key=Fleet-Task,valueonly,separator=%x20)",
        "main",
    )
    return trailers.split()


def landed_files(repo: SampleRepo) -> dict[str, set[str]]:
    """By task, the files that its landings changed on the trunk."""
    found: dict[str, set[str]] = {}
    listing = repo.git(
        *("log", "--first-parent", "--merges", "-m", "--name-only", "main"),
        "--format=%x00%(trailers:key=Fleet-Task,valueonly,separator=%x20)",
    )
    for landing in listing.split("\0")[1:]:
        task, *files = landing.split()
        found.setdefault(task, set()).update(files)
    return found
