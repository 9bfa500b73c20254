"""One of two machines has a clock that is an hour wrong, which changes nothing.

The runner and agents of that machine get the wrong time from the C library itself. The database
uses its own machine's clock. With SQLite, everything is on one machine, which has one clock.
"""

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from codefleet.domain.model import Draft, Event, Run, Task, TaskId
from tests import postgres
from tests.faults.machines import LEASE_S
from tests.faults.pair import Pair, pair
from tests.gitrepo import SampleRepo
from tests.script import script
from tests.store.conftest import needs_postgres, postgres_server, skip_or_fail

pytestmark = [needs_postgres, pytest.mark.slow, pytest.mark.timeout(300)]
__all__ = ["postgres_server"]

BOUND_S = 180.0
REST_S = 2.0
LATER_S = 8.0
SOON = timedelta(minutes=10)
"""Far more than anything here takes, and far less than the clock's error."""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """What makes the clock wrong; where it cannot be built, skip on a laptop and fail in CI."""
    skip_or_fail(None if shutil.which("cc") else "a wrong clock needs a C compiler")
    source, built = Path(__file__).with_name("wrong_clock.c"), tmp_path / "wrong_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", built, source], check=True)
    return built


@pytest.fixture(params=[3600, -3600], ids=["ahead", "behind"])
async def machines(
    request: pytest.FixtureRequest, tmp_path: Path, library: Path
) -> AsyncIterator[Pair]:
    wrong = {"LD_PRELOAD": str(library), "WRONG_BY_S": str(request.param)}
    known = {"FLEET_REST_S": str(REST_S), "FLEET_ENVIRONMENT": ",".join(wrong)}
    async with pair(tmp_path, postgres.shared().fresh(), wrong, known) as made:
        yield made


def backlog(later: datetime) -> list[Draft]:
    """Work that is short, that outlasts a lease, that fails at first, and that is for later."""
    plans: dict[str, tuple[int, list[str], dict[str, Any]]] = {
        "short": (8, ["wait 0.3"], {}),
        "long": (3, [f"wait {1.5 * LEASE_S}"], {"priority": 5}),
        "fails": (3, ["crash 1", "on attempt 2"], {}),
        "later": (3, [], {"not_before": later}),
    }
    return [
        Draft(
            title=f"{kind} {number}",
            prompt=script(*steps, f"write {kind}/{number}.txt done", "commit Done"),
            repo="shop",
            **fields,
        )
        for kind, (many, steps, fields) in plans.items()
        for number in range(many)
    ]


async def test_an_hour_of_skew_on_one_runner_changes_nothing(machines: Pair) -> None:
    begun = await machines.fleet.core.store.now()
    later = begun + timedelta(seconds=LATER_S)
    tasks = [*await machines.fleet.add(backlog(later)), await typed_by_bob(machines)]
    await machines.work(BOUND_S)
    await assert_nobody_is_taken_for_dead(machines)
    await machines.stop()
    ended = await machines.fleet.core.store.now()
    await machines.assert_each_landed_once()
    assert_a_clock_was_wrong(machines.remote, ended)
    runs = await machines.fleet.core.store.runs()
    assert {run.host for run in runs} == {"ada", "bob"}
    assert_every_run_is_its_runners_own(runs)
    assert_starts_go_by_the_clock_of_the_store(tasks, runs)
    assert_in_order(await machines.fleet.core.store.events(limit=100_000), begun, ended)


async def typed_by_bob(machines: Pair) -> Task:
    """A human at the machine with the wrong clock says how much later, not when."""
    words = ["add", "later, typed", "--repo=shop", f"--not-before=+{LATER_S}s", "--quiet"]
    prompt = script("write later/typed.txt done")
    made = await asyncio.to_thread(machines.bob.fleet, *words, f"--description={prompt}")
    return await machines.fleet.get(TaskId(made.strip()))


def assert_a_clock_was_wrong(remote: SampleRepo, ended: datetime) -> None:
    """Agents' commits carry the time of the machine that made them."""
    made = [int(word) for word in remote.git("log", "--format=%ct", "main").split()]
    offs = [abs(ended.timestamp() - moment) for moment in made]
    assert min(offs) < SOON.total_seconds()
    assert max(offs) > timedelta(minutes=50).total_seconds()


async def assert_nobody_is_taken_for_dead(machines: Pair) -> None:
    """Neither by the machine whose clock is right, nor by the one whose clock is wrong."""
    for machine in (machines.ada, machines.bob):
        seats = json.loads(machine.fleet("agents", "--json"))
        assert sorted(seat["host"] for seat in seats) == ["ada", "ada", "bob", "bob"]
        assert {seat["state"] for seat in seats} == {"idle"}


def assert_every_run_is_its_runners_own(runs: Sequence[Run]) -> None:
    """No lease was taken for expired: what failed was meant to, and was retried once."""
    assert {run.outcome for run in runs if run.number > 1} == {"submitted"}
    failed = [run for run in runs if run.outcome != "submitted"]
    assert {run.reason for run in failed} == {"crashed"}, [run.note for run in failed]
    assert len(failed) == 3
    for run in runs:
        assert run.ended_at
        left = run.lease_until - run.ended_at
        assert timedelta() <= left <= timedelta(seconds=LEASE_S)
    assert len(runs) == 18 + len(failed)


def assert_starts_go_by_the_clock_of_the_store(tasks: Sequence[Task], runs: Sequence[Run]) -> None:
    assert sum(task.not_before is not None for task in tasks) == 4
    for task in tasks:
        first, *more = sorted(_of(task, runs), key=attrgetter("number"))
        if task.not_before:
            assert timedelta() <= first.started_at - task.not_before < SOON
        for again in more:
            assert first.ended_at
            assert timedelta(seconds=REST_S) <= again.started_at - first.ended_at < SOON


def assert_in_order(events: Sequence[Event], begun: datetime, ended: datetime) -> None:
    """The events of a task are in the order of their times, all of which are right."""
    assert all(begun <= event.at <= ended for event in events if event.task)
    told = sorted((event for event in events if event.task), key=attrgetter("task", "seq"))
    for _, its in groupby(told, key=attrgetter("task")):
        assert all(before.at <= after.at for before, after in pairwise(its))


def _of(task: Task, runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.task == task.id]
