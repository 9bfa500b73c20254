"""A folder has one holder: no runner works in a folder that another one holds."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from codefleet.domain.model import Draft, Run, Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from tests.faults.conftest import SETTINGS, Runners, landed_files, until
from tests.gitrepo import SampleRepo
from tests.script import script
from tests.trap import Trap

pytestmark = pytest.mark.timeout(120)

SLOW_MERGE = """\
case "$*" in *"merge --no-edit"*)
    touch "$home/merging"
    n=0; while [ ! -e "$home/merge" ] && [ $n -lt 3000 ]; do sleep 0.01; n=$((n + 1)); done
esac
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "fleet.toml").write_text(f"{SETTINGS}lease_s = 2.0\n")
    return home


async def the_run(fleet: Fleet, task: Task, number: int) -> Run | None:
    runs = [run for run in await fleet.runs_of(task.id) if run.number == number]
    return runs[0] if runs else None


async def begun(fleet: Fleet, task: Task, number: int, file: str) -> Path:
    """Wait until this run's agent has written a file; returns the folder it works in."""

    async def written() -> bool:
        run = await the_run(fleet, task, number)
        return bool(run and run.worktree and (Path(run.worktree) / file).exists())

    await until(written, 60)
    run = await the_run(fleet, task, number)
    assert run
    return Path(str(run.worktree))


def freeze(runner: subprocess.Popen[bytes]) -> None:
    """Freeze only the runner: its agents keep working."""
    runner.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, runner.pid, os.WSTOPPED | os.WNOWAIT)


async def add(fleet: Fleet, title: str, *steps: str) -> Task:
    return (await fleet.add([Draft(title=title, prompt=script(*steps))]))[0]


@pytest.mark.slow
async def test_a_runner_that_slept_past_its_lease_hands_on_no_folder_that_is_in_use(
    fleet: Fleet, repo: SampleRepo, runners: Runners, trap: Trap, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    one = await add(
        fleet,
        "One",
        *("write one.txt first", "hang", "on attempt 2"),
        *("write one.txt second", f"wait until {gate}"),
    )
    asleep = runners.start(agents=1, until_idle=False)
    await begun(fleet, one, 1, "one.txt")
    freeze(asleep)
    trap.plan(SLOW_MERGE)
    runners.start(agents=1, until_idle=False)
    merging = trap.home / "merging"

    async def is_preparing() -> bool:
        return merging.exists()

    await until(is_preparing, 60)
    two = await add(fleet, "Two", "write two.txt two", f"wait until {gate}")
    asleep.send_signal(signal.SIGCONT)
    theirs = await begun(fleet, two, 1, "two.txt")
    (trap.home / "merge").touch()
    ours = await begun(fleet, one, 2, "one.txt")
    gate.touch()

    async def is_over() -> bool:
        return (await fleet.core.store.counts()) == {State.COMPLETED: 2}

    await until(is_over, 60)
    assert ours != theirs
    assert landed_files(repo) == {one.id: {"one.txt"}, two.id: {"two.txt"}}
    assert repo.read("main", "one.txt") == "second\n"
    assert repo.saved("one.txt") >= {"first\n", "second\n"}
