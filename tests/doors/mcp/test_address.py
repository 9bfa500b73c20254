"""Runners of every kind offer the address to their agents, and say so when one has lost it."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import pytest

from codefleet.domain.model import Draft, Run, Task
from codefleet.domain.words import State
from codefleet.doors import tools_port
from codefleet.fleet import Fleet
from codefleet.runner import background
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.doors.mcp.conftest import BOUND_S
from tests.doors.mcp.test_shared import held_by, status, taken
from tests.faults.conftest import kill_agents
from tests.gitrepo import SampleRepo

pytestmark = pytest.mark.slow

AGENT = """\
#!/bin/sh
echo '{{"type": "system", "subtype": "init", "session_id": "s1"}}'
while ! test -e {go}; do sleep 0.05; done
echo done > work.txt
echo '{{"type": "result", "subtype": "success", "is_error": false, "result": "Done."}}'
"""
RUN = ("run", "--agents=1")
SERVE = ("serve", "--agents=1", "--port=0")


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo, tmp_path: Path) -> AsyncIterator[Fleet]:
    """A fleet whose agent looks like a real program and waits until there is a file `go`."""
    program = tmp_path / "agent"
    program.write_text(AGENT.format(go=tmp_path / "go"))
    program.chmod(0o700)
    home.mkdir()
    (home / "fleet.toml").write_text(f'coder = "claude"\n[coders.claude]\nprogram = "{program}"\n')
    async with open_fleet(home, create=True) as fleet:
        await register(fleet, repo.path)
        yield fleet
    kill_agents(home)


@pytest.fixture
def start(home: Path) -> Iterator[Callable[[Sequence[str]], "subprocess.Popen[bytes]"]]:
    """Starts runners; all that are still there in the end are killed."""
    started: list[subprocess.Popen[bytes]] = []

    def one(command: Sequence[str]) -> "subprocess.Popen[bytes]":
        argv = [sys.executable, "-m", "codefleet", "--home", str(home), *command]
        quiet = subprocess.DEVNULL
        started.append(subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet))
        return started[-1]

    yield one
    for process in started:
        process.kill()
        process.wait()


Start = Callable[[Sequence[str]], "subprocess.Popen[bytes]"]


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(BOUND_S):
        while not await condition():
            await asyncio.sleep(0.01)


async def at_work(fleet: Fleet) -> tuple[Task, Run]:
    """A task and its run, whose agent has begun."""
    (task,) = await fleet.add([Draft(title="Work")])

    async def began() -> bool:
        return any(event.kind == "run.session" for event in await fleet.events())

    await until(began)
    [run] = await fleet.runs_of(task.id)
    return task, run


def address(fleet: Fleet, run: Run) -> str:
    """Where the agent of this run was told that its tools are."""
    return (fleet.home / "runs" / run.id / "tools.url").read_text()


@pytest.mark.parametrize("command", [RUN, SERVE], ids=["run", "serve"])
async def test_agents_of_a_runner_in_the_foreground_have_the_address(
    fleet: Fleet, start: Start, command: Sequence[str]
) -> None:
    start(command)
    _, run = await at_work(fleet)
    assert await status(address(fleet, run), held_by(fleet, run)) == 200


async def test_agents_of_the_background_runner_have_the_address(
    fleet: Fleet, tmp_path: Path
) -> None:
    background.start(fleet.home)
    _, run = await at_work(fleet)
    assert await status(address(fleet, run), held_by(fleet, run)) == 200
    (tmp_path / "go").touch()


async def test_an_agent_that_lost_its_address_works_on_and_the_log_says_so(
    fleet: Fleet, start: Start, tmp_path: Path
) -> None:
    first = start(RUN)
    task, run = await at_work(fleet)
    first.kill()
    first.wait()
    old = address(fleet, run)
    with taken(old):
        start(RUN)

        async def warned() -> bool:
            told = [e.text for e in await fleet.events() if e.kind == "run.warned"]
            return any(f"no longer at {old}" in text for text in told)

        await until(warned)
        (tmp_path / "go").touch()

        async def ended() -> bool:
            return (await fleet.get(task.id)).state.is_final

        await until(ended)
        assert (await fleet.get(task.id)).state is State.COMPLETED
        assert f":{(fleet.home / tools_port.FILE).read_text().strip()}/" not in old


async def test_the_files_with_the_token_are_for_the_owner_only(fleet: Fleet, start: Start) -> None:
    start(RUN)
    _, run = await at_work(fleet)
    token, folder = held_by(fleet, run), fleet.home / "runs" / run.id
    holding = [each for each in folder.iterdir() if each.is_file() and token in each.read_text()]
    assert {each.name for each in holding} == {"token", "mcp.json"}
    assert {each.stat().st_mode & 0o777 for each in holding} == {0o600}
