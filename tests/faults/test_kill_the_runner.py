"""kill -9 in the middle of everything: nothing is lost, nothing is done twice."""

import random
import signal
from collections import Counter
from contextlib import suppress

import psutil
import pytest

from codefleet.domain.model import Draft, Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from tests.faults.conftest import Runners, agents_alive, landed_tasks, until
from tests.gitrepo import SampleRepo
from tests.script import script

LANDS = {"read-tree", "update-ref", "merge-tree", "commit-tree"}
"""What git does while work lands."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def work(number: int) -> Draft:
    return Draft(
        title=f"Task {number}",
        prompt=script(
            "say begin",
            "wait 0.15",
            f"write part-{number}.txt {number}",
            "wait 0.15",
            "say end",
        ),
    )


async def backlog(fleet: Fleet, size: int) -> list[Task]:
    return list(await fleet.add([work(number) for number in range(size)]))


async def assert_all_well(fleet: Fleet, repo: SampleRepo, tasks: list[Task], seats: int) -> None:
    """Everything is on the trunk exactly once, and nothing is left behind."""
    found = await fleet.list(TaskQuery(ids=[task.id for task in tasks]))
    assert Counter(task.state for task in found) == {State.COMPLETED: len(tasks)}
    assert Counter(landed_tasks(repo)) == Counter(task.id for task in tasks)
    for number in range(len(tasks)):
        assert repo.read("main", f"part-{number}.txt") == f"{number}\n"
    assert repo.git("status", "--porcelain") == ""
    assert agents_alive(fleet.home) == []
    slots = [path for path in (fleet.home / "worktrees" / "shop").iterdir() if path.is_dir()]
    assert len(slots) <= seats
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/heads/fleet/") == ""


async def assert_told_once(fleet: Fleet, tasks: list[Task]) -> None:
    """No event is lost and none is repeated: each agent said each thing once."""
    events = await fleet.core.store.events(limit=1_000_000)
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    said = Counter((event.run, event.text) for event in events if event.kind == "run.said")
    assert set(said.values()) == {1}
    assert set(said) >= {(f"{task.id}.1", word) for task in tasks for word in ("begin", "end")}


@pytest.mark.parametrize("kills", [3, 10])
async def test_kills_of_the_runner_lose_and_repeat_nothing(
    fleet: Fleet, repo: SampleRepo, runners: Runners, kills: int
) -> None:
    chance = random.Random(7)
    tasks = await backlog(fleet, 4 * kills)
    for _ in range(kills):
        runner = runners.start()
        goal = await fleet.core.store.last_seq() + chance.randint(5, 40)

        async def has_done_much(goal: int = goal, runner=runner) -> bool:  # type: ignore[no-untyped-def] # bound early
            return await fleet.core.store.last_seq() >= goal or runner.poll() is not None

        await until(has_done_much)
        assert runner.poll() is None, "the backlog ended before the last kill"
        runners.kill(runner)
    await runners.finished(runners.start())
    await assert_all_well(fleet, repo, tasks, seats=4)
    await assert_told_once(fleet, tasks)
    runs = await fleet.core.store.runs(tasks=[task.id for task in tasks])
    assert Counter(run.task for run in runs) == {task.id: 1 for task in tasks}, (
        "adopted, not restarted"
    )


@pytest.mark.parametrize("victim", ["keeper", "agent"])
async def test_killed_agents_and_keepers_are_replaced_and_leave_no_orphan(
    fleet: Fleet, repo: SampleRepo, runners: Runners, victim: str
) -> None:
    tasks = await backlog(fleet, 12)
    runner = runners.start()
    killed: set[int] = set()

    async def kill_some() -> bool:
        for process in agents_alive(fleet.home):
            if len(killed) < 5 and process.pid not in killed and _is(process, victim):
                with suppress(psutil.NoSuchProcess):  # it may end at any moment
                    process.send_signal(signal.SIGKILL)
                    killed.add(process.pid)
        return len(killed) >= 5 or runner.poll() is not None

    await until(kill_some)
    await runners.finished(runner)
    assert len(killed) == 5
    await assert_all_well(fleet, repo, tasks, seats=4)


async def test_killing_git_in_the_middle_of_landings_lands_everything_exactly_once(
    fleet: Fleet, repo: SampleRepo, runners: Runners
) -> None:
    tasks = await backlog(fleet, 20)
    runner = runners.start()
    killed: set[int] = set()

    async def kill_gits() -> bool:
        for process in psutil.Process(runner.pid).children() if runner.poll() is None else ():
            try:
                if len(killed) < 10 and LANDS & {*process.cmdline()}:
                    process.send_signal(signal.SIGKILL)
                    killed.add(process.pid)
            except psutil.Error:
                continue
        return len(killed) >= 10 or runner.poll() is not None

    await until(kill_gits)
    await runners.finished(runner)
    assert killed
    await assert_all_well(fleet, repo, tasks, seats=4)


def _is(process: psutil.Process, victim: str) -> bool:
    try:
        words = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return ("keeper.py" in words) if victim == "keeper" else ("scripted_agent.py" in words)
