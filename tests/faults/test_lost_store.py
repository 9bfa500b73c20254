"""The store's file vanishes under a running runner: it reports that and stops; nothing is lost."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from codefleet.domain.model import Draft
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.faults.conftest import Runners, agents_alive, until
from tests.gitrepo import SampleRepo
from tests.script import script

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


@pytest.mark.parametrize("replaced", [False, True], ids=["deleted", "replaced"])
async def test_a_runner_whose_store_vanishes_stops_and_its_work_goes_on_after_an_import(
    home: Path, repo: SampleRepo, runners: Runners, tmp_path: Path, *, replaced: bool
) -> None:
    gate = tmp_path / "go"
    async with open_fleet(home, create=True) as fleet:
        await register(fleet, repo.path)
        steps = ("write a.txt a", "say begun", f"wait until {gate}", "write b.txt b")
        (task,) = await fleet.add([Draft(title="Go on", prompt=script(*steps))])
        runner = runners.start(agents=1)
        await until(lambda: said(fleet), 60)
    for file in ("fleet.db-wal", "fleet.db-shm", "fleet.db"):
        (home / file).rename(tmp_path / file)
    if replaced:
        async with open_fleet(home, create=True):
            pass
    assert await asyncio.to_thread(runner.wait, 60) == 5
    assert "while it was in use" in (home / "runner.log").read_text()
    assert agents_alive(home)
    gate.touch()
    (rescued,) = home.glob("fleet.db-rescued-*.jsonl")
    fresh = ["reset", "--yes"] if replaced else ["init"]
    for words in (fresh, ["import", str(rescued)]):
        argv = [sys.executable, "-m", "codefleet", "--home", str(home), *words]
        await asyncio.to_thread(subprocess.run, argv, check=True, cwd=tmp_path)
    await runners.finished(runners.start(agents=1))
    async with open_fleet(home) as fleet:
        assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.read("main", "a.txt") == "a\n"
    assert repo.read("main", "b.txt") == "b\n"


async def said(fleet: Fleet) -> bool:
    return any(event.text == "begun" for event in await fleet.events(kinds=["run.said"]))
