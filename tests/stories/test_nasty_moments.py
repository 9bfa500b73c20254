"""What people do at the worst moment: the fleet does what they asked, or says why it cannot."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.errors import IllegalMove
from codefleet.domain.model import Task
from codefleet.domain.words import Outcome, Reason, State
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.loop import Loop
from codefleet.store.sqlite import commits
from codefleet.wiring import open_fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import BOUND_S, Crew
from tests.trap import Trap

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]


def check_that_waits(gate: Path, begun: Path) -> str:
    """A check that reports its start and ends when the gate opens."""
    return f"sh -c 'touch {begun}; until test -e {gate}; do sleep 0.02; done'"


async def in_the_lane(fleet: Fleet, crew: Crew, add: Add, gate: Path, begun: Path) -> Task:
    """A task whose checks the lane is running, because the trunk moved since its run."""
    await add("Move the trunk", "write moved.txt x")
    await crew.work(landing="review")
    held = await add("Held", "write held.txt x")
    await crew.work(landing="review")
    first = (await fleet.inbox())[0]
    await fleet.land(first.id)
    await crew.work(landing="review")
    await fleet.edit(held.id, checks=(check_that_waits(gate, begun),))
    await fleet.land(held.id)
    return held


@pytest.mark.parametrize("word", ["cancel", "reject"])
async def test_a_word_during_a_landing_keeps_the_work_off_the_trunk(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, word: str
) -> None:
    gate, begun = fleet.home / "gate", fleet.home / "begun"
    task = await in_the_lane(fleet, crew, add, gate, begun)
    loop = crew.loop(landing="review")
    running = asyncio.create_task(loop.run())

    async def checks_run() -> bool:
        return begun.exists()

    await crew.wait_for(checks_run)
    await (fleet.cancel(task.id) if word == "cancel" else fleet.reject(task.id, "not like this"))
    await fleet.pause()
    gate.touch()
    loop.stop()
    await running
    assert "held.txt" not in repo.git("ls-tree", "--name-only", "main")
    assert (await fleet.get(task.id)).landed is None
    assert not (fleet.home / "logs" / "crash.log").exists()


@pytest.mark.parametrize("where", ["checks", "setup"])
async def test_a_cancelled_task_waits_for_no_command_that_is_run_for_it(
    fleet: Fleet, crew: Crew, add: Add, where: str
) -> None:
    never, begun = fleet.home / "never", fleet.home / "begun"
    command = check_that_waits(never, begun)
    task = await add("Work", "write a.txt a", checks=[command] if where == "checks" else [])
    loop = crew.loop(setup=command) if where == "setup" else crew.loop()
    running = asyncio.create_task(loop.run())

    async def runs() -> bool:
        return begun.exists()

    async def is_over() -> bool:
        return not any(run.is_live for run in await fleet.runs_of(task.id))

    await crew.wait_for(runs)
    await fleet.cancel(task.id)
    await crew.wait_for(is_over)
    loop.stop()
    await asyncio.wait_for(running, BOUND_S)
    assert not (fleet.home / "logs" / "crash.log").exists()


async def test_a_runner_told_twice_to_stop_waits_for_no_check_and_the_next_one_goes_on(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    gate, begun = fleet.home / "gate", fleet.home / "begun"
    task = await add("Work", "write a.txt a", checks=[check_that_waits(gate, begun)])
    await stopped_firmly(crew.loop(), crew, begun)
    gate.touch()
    await crew.work()
    [run] = await fleet.runs_of(task.id)
    assert run.outcome is Outcome.SUBMITTED
    assert (await fleet.get(task.id)).attempts == 0
    assert repo.read("main", "a.txt") == "a\n"


async def test_a_runner_told_twice_to_stop_waits_for_no_check_in_the_lane(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    gate, begun = fleet.home / "gate", fleet.home / "begun"
    task = await in_the_lane(fleet, crew, add, gate, begun)
    await stopped_firmly(crew.loop(landing="review"), crew, begun)
    assert (await fleet.get(task.id)).state is State.REVIEW
    gate.touch()
    await crew.work(landing="review")
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.read("main", "held.txt") == "x\n"


async def stopped_firmly(loop: Loop, crew: Crew, begun: Path) -> None:
    """Stop a runner as a second Ctrl-C does, once it has started something that does not end."""
    running = asyncio.create_task(loop.run())

    async def has_begun() -> bool:
        return begun.exists()

    await crew.wait_for(has_begun)
    loop.stop()
    loop.stop(firm=True)
    await asyncio.wait_for(running, BOUND_S)


async def test_work_on_its_way_onto_the_trunk_can_not_be_cancelled_for_that_moment(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Nearly there", "write a.txt a")
    await crew.work(landing="review")
    seen = await fleet.land(task.id)
    held = await Dispatch(fleet).begin_landing(seen)
    assert held
    with pytest.raises(IllegalMove, match="landing on the trunk"):
        await fleet.cancel(task.id)
    assert await Dispatch(fleet).begin_landing(seen) is None
    await Dispatch(fleet).end_landing(held)
    assert (await fleet.cancel(task.id)).state is State.CANCELLED


async def test_checks_that_came_after_the_run_are_run_before_it_lands(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Unchecked", "write a.txt a", max_attempts=1)
    await crew.work(landing="review")
    await fleet.land(task.id)
    await crew.work(landing="review", checks=("false",))
    assert (await fleet.get(task.id)).reason is Reason.CHECKS_FAILED
    assert "a.txt" not in repo.git("ls-tree", "--name-only", "main")


async def test_a_task_paused_while_its_checks_run_lands_when_it_is_resumed(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    gate, begun = fleet.home / "gate", fleet.home / "begun"
    task = await add("Paused", "write a.txt a", checks=[check_that_waits(gate, begun)])
    loop = crew.loop()
    running = asyncio.create_task(loop.run())

    async def checks_run() -> bool:
        return begun.exists()

    async def in_state(state: State) -> bool:
        return (await fleet.get(task.id)).state is state

    await crew.wait_for(checks_run)
    await fleet.pause(task.id)
    gate.touch()
    await crew.wait_for(lambda: in_state(State.REVIEW))
    await fleet.resume(task.id)
    await crew.wait_for(lambda: in_state(State.COMPLETED))
    loop.stop()
    await running


@pytest.mark.parametrize("how", ["stop", "pause", "cancel"])
async def test_an_agent_that_saves_its_work_when_asked_to_stop_has_the_time_for_it(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, how: str
) -> None:
    """The runner asks once and waits, however much happens meanwhile."""
    gate, begun = fleet.home / "gate", fleet.home / "begun"
    saves = f"trap 'until test -e {gate}; do sleep 0.02; done; echo saved > saved.txt; exit 0' TERM"
    task = await add("Careful", f"shell {saves}; touch {begun}; while :; do sleep 0.02; done")
    loop = crew.loop(grace_s=30.0)
    running = asyncio.create_task(loop.run())

    async def has_begun() -> bool:
        return begun.exists()

    await crew.wait_for(has_begun)
    if how == "stop":
        loop.stop()
    elif how == "pause":
        await fleet.pause(task.id)
    else:
        await fleet.cancel(task.id)
    for number in range(3):
        await add(f"Meanwhile {number}", "finish --no-changes")
    gate.touch()

    async def is_over() -> bool:
        return not any(run.is_live for run in await fleet.runs_of(task.id))

    await crew.wait_for(is_over)
    loop.stop()
    await running
    assert "saved\n" in repo.saved("saved.txt")


async def test_an_agent_that_left_its_branch_lands_what_it_made_and_nothing_else(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add(
        "Astray",
        "write bad.txt bad",
        "commit A wrong way",
        "crash",
        "on attempt 2",
        "shell git checkout -q -b fix main",
        "write good.txt good",
        "commit The right way",
    )
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    landed = repo.git("ls-tree", "--name-only", "main").splitlines()
    assert "good.txt" in landed
    assert "bad.txt" not in landed
    assert "bad\n" in repo.saved("bad.txt")


async def test_work_without_a_common_history_lands_on_top_of_what_it_was_made_from(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add(
        "Orphan", "shell git checkout -q --orphan new", "write a.txt a", max_attempts=1
    )
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.read("main", "a.txt") == "a\n"
    assert repo.read("main", "README.md")


async def test_a_budget_is_for_all_attempts_together(fleet: Fleet, crew: Crew, add: Add) -> None:
    task = await add("Dear", "usage cost=0.9", "crash", budget={"usd": 1.0}, max_attempts=5)
    await crew.work()
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.BUDGET)
    spent = sum(run.usage.cost_usd for run in await fleet.runs_of(task.id))
    assert spent == pytest.approx(1.8)


async def test_a_run_that_ended_over_its_budget_is_told(fleet: Fleet, crew: Crew, add: Add) -> None:
    task = await add("Dear", "write a.txt a", "usage cost=5", budget={"usd": 0.01})
    await crew.work()
    warned = [e.text for e in await fleet.events(task=task.id) if e.kind == "run.warned"]
    assert warned == ["the task cost 5.00 USD of 0.01 USD allowed"]


async def test_more_agents_in_the_settings_are_seated_while_the_runner_works(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    gate = fleet.home / "gate"
    for number in range(3):
        await add(f"Wait {number}", f"wait until {gate}", f"write {number}.txt x")
    settings = fleet.home / "fleet.toml"
    settings.write_text("agents = 1\n")
    loop = crew.loop(agents=None)
    running = asyncio.create_task(loop.run())

    async def at_work(many: int) -> bool:
        return len([a for a in await fleet.agents() if a.state == "working"]) == many

    await crew.wait_for(lambda: at_work(1))
    settings.write_text("agents = 3\n")
    await add("Wake up", "finish --no-changes", priority=1)
    await crew.wait_for(lambda: at_work(3))
    gate.touch()
    loop.stop()
    await running


async def test_a_store_that_is_locked_for_long_costs_no_run_and_no_heartbeat(
    fleet: Fleet, crew: Crew, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "PATIENCE_S", 0.2)
    gate = fleet.home / "gate"
    task = await add("Patient", "say hello", f"wait until {gate}", "write a.txt a")
    told: list[str] = []
    loop = crew.loop(lease_s=3.0)
    loop.tell = told.append
    running = asyncio.create_task(loop.run())

    async def at_work() -> bool:
        return any(agent.state == "working" for agent in await fleet.agents())

    await crew.wait_for(at_work)
    async with open_fleet(fleet.home) as other:
        connection = other.core.store._database.connection  # type: ignore[attr-defined] # its lock
        connection.execute("BEGIN IMMEDIATE")
        gate.touch()

        async def trouble_is_told() -> bool:
            log = fleet.home / "logs" / "crash.log"
            return log.exists() and "busy" in log.read_text() and any("busy" in it for it in told)

        await crew.wait_for(trouble_is_told)
        connection.execute("ROLLBACK")

    async def done() -> bool:
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.wait_for(done)
    loop.stop()
    await running
    assert (await fleet.get(task.id)).runs == 1
    assert len(told) == len(set(told))


async def test_a_store_that_cannot_be_written_is_told_also_while_there_is_nothing_to_do(
    fleet: Fleet, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "PATIENCE_S", 0.2)
    told: list[str] = []
    loop = crew.loop(lease_s=2.0)
    loop.tell = told.append
    running = asyncio.create_task(loop.run())

    async def has_joined() -> bool:
        return any(event.kind == "runner.started" for event in await fleet.events())

    async def is_told() -> bool:
        return bool(told)

    await crew.wait_for(has_joined)
    async with open_fleet(fleet.home) as other:
        connection = other.core.store._database.connection  # type: ignore[attr-defined] # its lock
        connection.execute("BEGIN IMMEDIATE")
        await crew.wait_for(is_told)
        connection.execute("ROLLBACK")
    loop.stop()
    await running
    assert "busy" in told[0]


async def test_an_agent_that_prints_without_end_fills_neither_the_log_nor_the_time(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    flood = "print('x\\n' * 300_000); open('a.txt', 'w').write('a')"
    task = await add("Flood", coder="command")
    await crew.work(coders={"command": {"argv": [sys.executable, "-c", flood]}})
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert len(await fleet.events(task=task.id)) < 1000


async def test_a_branch_that_git_would_not_delete_is_cleared_up_before_the_runner_leaves(
    repo: SampleRepo, crew: Crew, add: Add, trap: Trap
) -> None:
    for number in (1, 2, 3, 4):  # all refs at once, and then the branch three times
        (trap.home / f"kill-{number}").mkdir()
    trap.plan(
        'case "$*" in *"update-ref --no-deref -d"*|*"fleet: landed"*)'
        ' for each in "$home"/kill-*; do rmdir "$each" 2>/dev/null && kill -9 $$; done;; esac'
    )
    await add("Work", "write a.txt a")
    await crew.work()
    assert not [*trap.home.glob("kill-*")]
    assert repo.read("main", "a.txt") == "a\n"
    assert repo.git("for-each-ref", "refs/heads/fleet/") == ""
