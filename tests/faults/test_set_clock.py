"""The system clock is set while agents work, which ends no run and starts no second one.

Every process of the fleet, including agents and git, gets its time from the C library, which reads
the clock's error from a file.
"""

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from codefleet.domain.model import Draft, Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import TaskQuery
from tests.faults.conftest import Runners, landed_tasks, until
from tests.gitrepo import SampleRepo
from tests.script import script
from tests.store.conftest import skip_or_fail

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

HOUR, YEAR = 3600, 365 * 86400
BOUND_S = 120.0
SETTINGS = """\
lease_s = 3.0
timeout_s = 600.0
attempts = 2
rest_s = 3.0
limit_rest_s = 3.0
grace_s = 2.0
durability = "normal"
environment = ["LD_PRELOAD", "WRONG_BY_FILE"]
"""


class WallClock:
    """A clock that can be set for all programs that read it."""

    def __init__(self, folder: Path) -> None:
        source, built = Path(__file__).with_name("wrong_clock.c"), folder / "wrong_clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", built, source], check=True)
        self._file = folder / "wrong_by"
        self.set_to(0)
        self.variables = {"LD_PRELOAD": str(built), "WRONG_BY_FILE": str(self._file)}

    def set_to(self, wrong_by: int) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(str(wrong_by))
        new.replace(self._file)

    def reads(self) -> float:
        """What a program reads from it."""
        words = [sys.executable, "-c", "import time; print(time.time())"]
        return float(subprocess.check_output(words, env={**os.environ, **self.variables}))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "fleet.toml").write_text(SETTINGS)
    return home


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WallClock:
    skip_or_fail(None if shutil.which("cc") else "a wrong clock needs a C compiler")
    clock = WallClock(tmp_path)
    for name, value in clock.variables.items():
        monkeypatch.setenv(name, value)  # for everything started from here
    return clock


def waits(number: int, folder: Path) -> Draft:
    """An agent that notes its start, and works until it may end."""
    return Draft(
        title=f"Wait {number}",
        prompt=script(
            f"shell echo started >> {folder}/agents-{number}",
            f"wait until {folder}/go {BOUND_S:.0f}",
            f"write part-{number}.txt {number}",
        ),
    )


async def renewed(fleet: Fleet, times: int = 4) -> None:
    """Wait until every live run has renewed its lease several times."""
    before = {run.id: run.version for run in await Dispatch(fleet).live_runs()}

    async def seen() -> bool:
        now = {run.id: run.version for run in await Dispatch(fleet).live_runs()}
        return all(now.get(name, -1) >= version + times for name, version in before.items())

    await until(seen, BOUND_S)


async def test_a_clock_that_jumps_ends_no_run_and_starts_no_second_agent(
    fleet: Fleet, repo: SampleRepo, runners: Runners, clock: WallClock, tmp_path: Path
) -> None:
    tasks = list(await fleet.add([waits(number, tmp_path) for number in range(4)]))
    for _ in range(2):
        runners.start(agents=3, until_idle=False)

    async def all_at_work() -> bool:
        return all((tmp_path / f"agents-{number}").exists() for number in range(4))

    try:
        await until(all_at_work, BOUND_S / 4)
    except TimeoutError:
        raise AssertionError([(e.kind, e.text) for e in await fleet.events(limit=99)]) from None
    for wrong_by in (HOUR, YEAR, 0, -HOUR, 0, -YEAR, HOUR, 0):
        right = clock.reads()
        clock.set_to(wrong_by)
        assert clock.reads() != pytest.approx(right, abs=HOUR / 2)
        await renewed(fleet)
        assert {agent.state for agent in await fleet.agents()} == {"working", "idle"}
    (tmp_path / "go").touch()
    await all_completed(fleet)
    for number, task in enumerate(await fleet.list(TaskQuery(ids=[each.id for each in tasks]))):
        assert (task.runs, task.attempts) == (1, 0)
        assert (tmp_path / f"agents-{number}").read_text() == "started\n"
    assert Counter(landed_tasks(repo)) == Counter(task.id for task in tasks)


@pytest.mark.parametrize("wrong_by", [YEAR, HOUR])
async def test_what_rests_by_a_wrong_clock_goes_on_once_it_is_right(
    fleet: Fleet, runners: Runners, clock: WallClock, wrong_by: int
) -> None:
    clock.set_to(wrong_by)
    again = "on attempt 2"
    fails = Draft(title="Fail once", prompt=script("crash 1", again, "write a.txt a"))
    limited = Draft(title="Be limited", prompt=script("limit 3", again, "write b.txt b"))
    await fleet.add([fails])
    runner = runners.start(agents=1, until_idle=False)
    await until(lambda: told(fleet, "run.failed"), BOUND_S)
    await fleet.add([limited.evolve(priority=5)])
    await until(lambda: told(fleet, "account.rests"), BOUND_S)
    clock.set_to(0)
    await all_completed(fleet)
    assert runner.poll() is None


async def told(fleet: Fleet, kind: str) -> bool:
    return bool(await fleet.events(kinds=[kind], limit=1))


async def all_completed(fleet: Fleet) -> None:
    async def done() -> bool:
        return set(await fleet.counts()) == {State.COMPLETED}

    try:
        await until(done, BOUND_S)
    except TimeoutError:
        left: list[Task] = [t for t in await fleet.list(TaskQuery()) if not t.state.is_final]
        raise AssertionError(f"{left}\n{await fleet.rests()}") from None
