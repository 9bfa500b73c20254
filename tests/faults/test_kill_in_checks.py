"""A runner killed while checks run: its leftover checks never run alongside the next ones."""

from pathlib import Path

import pytest

from codefleet.domain.errors import NEEDS_HUMAN
from codefleet.domain.model import Draft, Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.process.identity import Process
from tests.faults.conftest import SETTINGS, Runners, landed_tasks, until
from tests.gitrepo import SampleRepo
from tests.script import script

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


class Gate:
    """A command that reports its pid, writes half of something, and waits until the gate opens."""

    def __init__(self, folder: Path) -> None:
        self.pids = folder / "pids"
        self.pids.mkdir()
        self.open = folder / "open"

    def command(self, unless: str = "false") -> str:
        waits = f"until test -e {self.open}; do sleep 0.02; done"
        return f"sh -c '{unless} || {{ echo half > half.txt; touch {self.pids}/$$; {waits}; }}'"

    async def begins(self, number: int) -> None:
        async def has() -> bool:
            return len([*self.pids.iterdir()]) >= number

        await until(has)

    def at_work(self) -> int:
        found = (Process.find(int(each.name)) for each in self.pids.iterdir())
        return sum(process is not None for process in found)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


async def add(fleet: Fleet, title: str, *checks: str) -> Task:
    draft = Draft(title=title, prompt=script(f"write {title}.txt made"), checks=checks)
    return (await fleet.add([draft]))[0]


async def kill_and_go_on(runners: Runners, gate: Gate) -> None:
    """Kill the runner in the middle of the command; the next one starts it again, alone."""
    runner = runners.start()
    await gate.begins(1)
    runners.kill(runner)
    runner = runners.start()
    await gate.begins(2)
    assert gate.at_work() == 1
    gate.open.touch()
    await runners.finished(runner)


async def test_in_the_agents_worktree(
    fleet: Fleet, repo: SampleRepo, runners: Runners, gate: Gate
) -> None:
    task = await add(fleet, "a", gate.command())
    await kill_and_go_on(runners, gate)
    assert (await fleet.get(task.id)).attempts == 0
    assert landed_tasks(repo) == [task.id]
    assert repo.git("ls-tree", "--name-only", "main").split() == ["README.md", "a.txt"]


async def test_in_the_lane(
    fleet: Fleet, home: Path, repo: SampleRepo, runners: Runners, gate: Gate
) -> None:
    (home / "fleet.toml").write_text(f'{SETTINGS}landing = "review"\n')
    first = await add(fleet, "a")
    second = await add(fleet, "b", gate.command(unless="test ! -e a.txt"))
    await runners.finished(runners.start(), exit_code=NEEDS_HUMAN)
    for task in (first, second):
        await fleet.land(task.id)
    await kill_and_go_on(runners, gate)
    assert landed_tasks(repo) == [second.id, first.id]
    assert (await fleet.get(second.id)).state is State.COMPLETED


async def test_in_the_set_up(
    fleet: Fleet, home: Path, repo: SampleRepo, runners: Runners, gate: Gate
) -> None:
    (home / "fleet.toml").write_text(f'{SETTINGS}setup = "{gate.command()}"\n')
    task = await add(fleet, "a")
    await kill_and_go_on(runners, gate)
    assert (await fleet.get(task.id)).state is State.COMPLETED
