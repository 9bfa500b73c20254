"""Budgets: what is booked, when a warning is due, and what stops when a limit is reached."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from codefleet.domain.access import AgentOf
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Budget, Draft, Event, RunnerId, Task, Usage
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import Outcome, Reason, State
from codefleet.domain.workflow import workflow
from codefleet.doors.cli import stages
from codefleet.doors.cli.status import draw
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.gitrepo import SampleRepo, make_repo
from tests.script import script
from tests.stories.conftest import FLAGS, Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]
COMMAND = """
[coders.command]
argv = ["sh", "-c", '''{body}''']
[prices."house-*"]
input = 10
output = 100
cached = 1
"""


class MovedClock:
    """The time of day, which only a test changes."""

    def __init__(self) -> None:
        noon = datetime.now(UTC).replace(hour=12, minute=0)
        self.by = noon - datetime.now(UTC)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.by

    def to_tomorrow(self) -> None:
        self.by += timedelta(days=1)


@pytest.fixture
def clock() -> MovedClock:
    """At noon, so that no test runs into midnight by chance."""
    return MovedClock()


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo, clock: MovedClock) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True, flags=FLAGS, clock=clock) as fleet:
        await register(fleet, repo.path)
        yield fleet


def settings(fleet: Fleet, text: str) -> None:
    (fleet.home / "fleet.toml").write_text(text)


async def ledger(fleet: Fleet) -> list[Event]:
    return list(await fleet.core.store.events(kinds=["run.used"]))


async def warnings(fleet: Fleet) -> list[str]:
    return [told.text for told in await fleet.core.store.events(kinds=["budget.warned"])]


async def in_all(fleet: Fleet) -> float:
    return sum(float(line.data["cost_usd"]) for line in await ledger(fleet))


async def test_a_run_that_costs_too_much_is_stopped_and_its_work_is_kept(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    settings(fleet, "run_budget_usd = 2.0\n")
    task = await add("Dear", "write a.txt kept", "usage cost=2.5", "hang")
    await crew.work()
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.BUDGET)
    assert failed.note == "the run cost 2.50 USD of 2.00 USD allowed"
    assert "kept\n" in repo.saved("a.txt")


async def test_a_run_may_use_only_so_many_tokens(fleet: Fleet, crew: Crew, add: Add) -> None:
    settings(fleet, "run_budget_tokens = 1000\n")
    task = await add("Long", "usage input=900 output=200", "hang")
    await crew.work()
    assert (await fleet.get(task.id)).note == "the run cost 1,100 tokens of 1,000 tokens allowed"


async def test_a_limit_that_is_nearly_spent_is_told_once_over_all_runs_of_the_task(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    await add(
        "Near",
        "usage cost=0.85",
        "crash",
        "on attempt 2",
        "usage cost=0.05",
        "write a.txt a",
        budget={"usd": 1.0},
    )
    await crew.work()
    assert await warnings(fleet) == ["the task has cost 0.85 USD, 85 % of 1.00 USD allowed"]


async def test_a_limit_that_is_overrun_in_one_step_is_told_all_the_same(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    await add("Leap", "usage cost=1.5", "write a.txt a", budget={"usd": 1.0})
    await crew.work()
    assert await warnings(fleet) == ["the task cost 1.50 USD of 1.00 USD allowed"]


async def test_a_day_that_is_overrun_in_one_step_is_told_all_the_same(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    settings(fleet, "day_budget_usd = 1.0\n")
    await add("Leap", "usage cost=1.5", "write a.txt a")
    await crew.work()
    await crew.work()
    assert len(await warnings(fleet)) == 1


async def created(fleet: Fleet, parent: Task, *costs: float) -> list[Task]:
    """Tasks that this one's agent adds while it works, each of which costs this much."""
    seat = Seat("agent-9", RunnerId("r-9"), fleet.host, "scripted")
    (claim,) = await Dispatch(fleet).claim([seat], ClaimFilter())
    assert claim.task.id == parent.id
    drafts = [
        Draft(title=f"Child {n}", prompt=script(f"write {n}.txt x", f"usage cost={cost}"))
        for n, cost in enumerate(costs)
    ]
    children = await fleet.acting_as(AgentOf(run=claim.run.id)).add(drafts)
    used = await Dispatch(fleet).note(claim.run, usage=Usage(cost_usd=0.5))
    await Dispatch(fleet).complete(used, "the children do it")
    return list(children)


async def test_a_task_whose_children_have_spent_its_budget_goes_no_further(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    parent = await add("Parent", "usage cost=0.1", "write a.txt x", budget={"usd": 1})
    seat = Seat("agent-9", RunnerId("r-9"), fleet.host, "scripted")
    (claim,) = await Dispatch(fleet).claim([seat], ClaimFilter())
    child = Draft(title="Child", prompt=script("write b.txt x", "usage cost=0.96"))
    await fleet.acting_as(AgentOf(run=claim.run.id)).add([child])
    used = await Dispatch(fleet).note(claim.run, usage=Usage(cost_usd=0.05))
    await Dispatch(fleet).release(used, "the child goes first")
    await fleet.pause(parent.id)
    await crew.work(agents=1)
    await fleet.resume(parent.id)
    await crew.work(agents=1)
    ended = await fleet.get(parent.id)
    assert (ended.state, ended.reason) == (State.FAILED, Reason.BUDGET), ended.note


async def test_what_an_agent_creates_spends_of_its_tasks_budget(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    parent = await add("Parent", budget={"usd": 1})
    children = await created(fleet, parent, 0.6, 0.1)
    await crew.work(agents=1)
    spender, late = [await fleet.get(child.id) for child in children]
    assert (late.state, late.reason) == (State.FAILED, Reason.BUDGET)
    assert late.note == f"the task {parent.id} cost 1.10 USD of 1.00 USD allowed"
    assert spender.state is State.COMPLETED


async def test_what_a_stages_agent_creates_spends_of_the_workflows_budget(
    fleet: Fleet, crew: Crew
) -> None:
    said = {"stages": [{"name": "a", "prompt": "x"}], "budget": {"usd": 1}}
    flow = await fleet.start(workflow.parse(said))
    _, late = await created(fleet, await fleet.get(flow.tasks[0]), 0.6, 0.1)
    await crew.work(agents=1)
    failed = await fleet.get(late.id)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.BUDGET)
    assert failed.note.startswith(f"the workflow {flow.id} cost 1.10 USD")


async def test_another_runner_that_goes_on_with_the_run_warns_and_bills_no_second_time(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    gate = fleet.home / "gate"
    task = await add(
        "Near", "usage cost=0.9", f"wait until {gate}", "write a.txt a", budget={"usd": 1.0}
    )
    argv = (sys.executable, "-m", "codefleet", "--home", str(fleet.home), "run", "--agents=1")
    nowhere = subprocess.DEVNULL
    runner = await asyncio.create_subprocess_exec(*argv, stdout=nowhere, stderr=nowhere)
    try:
        await crew.wait_for(lambda: warnings(fleet))
    finally:
        runner.kill()
        await runner.wait()
    (run,) = await fleet.runs_of(task.id)
    gate.touch()
    await crew.work(1)
    (adopted,) = await fleet.runs_of(task.id)
    assert adopted.fence > run.fence
    assert adopted.usage.cost_usd == pytest.approx(0.9)
    assert await in_all(fleet) == pytest.approx(0.9)
    assert len(await warnings(fleet)) == 1


async def test_when_the_days_money_is_spent_work_waits_and_goes_on_the_next_day(
    fleet: Fleet, crew: Crew, add: Add, clock: MovedClock
) -> None:
    settings(fleet, "day_budget_usd = 20.0\n")
    gate = fleet.home / "gate"
    first = await add("First", "write a.txt a", "usage cost=21", f"wait until {gate}")
    second = await add("Second", "write b.txt b", priority=1)
    loop = crew.loop(1)
    running = asyncio.create_task(loop.run())

    async def released() -> bool:
        task = await fleet.get(first.id)
        return task.runs == 1 and task.state is State.PENDING

    async def completed() -> bool:
        found = [await fleet.get(task.id) for task in (first, second)]
        return all(task.state is State.COMPLETED for task in found)

    await crew.wait_for(released)
    waits = await fleet.status()
    sentence = "the fleet has spent today's 20.00 USD; resumes at 00:00 UTC"
    assert [(w.why, w.text) for w in waits.waiting] == [("budget", sentence)] * 2
    assert (await fleet.get(first.id)).attempts == 0
    assert (await fleet.get(second.id)).runs == 0
    gate.touch()
    clock.to_tomorrow()
    await add("Wake up", "finish --no-changes")
    await crew.wait_for(completed)
    loop.stop()
    await running
    runs = await fleet.runs_of(first.id)
    assert [run.outcome for run in runs] == [Outcome.RELEASED, Outcome.SUBMITTED]
    assert runs[0].reason is Reason.BUDGET
    assert runs[1].session == runs[0].session


async def test_a_higher_limit_lets_work_go_on_the_same_day(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    settings(fleet, "day_budget_usd = 1.0\n")
    await add("First", "write a.txt a", "usage cost=1.5")
    await crew.work(1)
    later = await add("Later", "write b.txt b")
    await crew.work(1)
    assert (await fleet.get(later.id)).state is State.PENDING
    settings(fleet, "day_budget_usd = 9.0\n")
    await crew.work(1)
    assert (await fleet.get(later.id)).state is State.COMPLETED


async def test_a_repo_that_spent_its_day_leaves_the_others_alone(
    fleet: Fleet, crew: Crew, add: Add, tmp_path: Path
) -> None:
    mail = make_repo(tmp_path / "mail", {"README.md": "Mail.\n"})
    await register(fleet, mail.path)
    settings(fleet, "repo_day_budget_usd = 50.0\n[repos.shop]\nrepo_day_budget_usd = 1.0\n")
    await add("First", "write a.txt a", "usage cost=1.5", repo="shop", priority=5)
    await crew.work(1)
    held = await add("Held", "write b.txt b", repo="shop", priority=5)
    free = await add("Free", "write b.txt b", repo="mail")
    await crew.work(1)
    assert (await fleet.get(held.id)).state is State.PENDING
    assert (await fleet.get(free.id)).state is State.COMPLETED
    assert (await fleet.why([held]))[held.id].text.startswith("shop has spent today's 1.00 USD")


async def test_a_day_that_is_nearly_spent_is_told_once_a_day(
    fleet: Fleet, crew: Crew, add: Add, clock: MovedClock
) -> None:
    settings(fleet, "day_budget_usd = 10.0\n")
    for day in (1, 2):
        for part in (1, 2):
            await add(f"Day {day}, part {part}", f"write {day}-{part}.txt x", "usage cost=4.2")
        await crew.work(1)
        await crew.work(1)
        assert len(await warnings(fleet)) == day
        clock.to_tomorrow()
    assert (await warnings(fleet))[0] == (
        "the fleet has cost 8.40 USD today, 84 % of 10.00 USD allowed"
    )


async def test_tokens_without_money_are_priced_and_the_run_says_the_same_as_the_ledger(
    fleet: Fleet, crew: Crew
) -> None:
    told = '{"type": "usage", "input_tokens": 1000, "output_tokens": 200, "cached_tokens": 5000}'
    settings(fleet, COMMAND.format(body=f"echo a > a.txt; cat <<X\n{told}\nX\n"))
    draft = Draft(title="Priced", coder="command", model="house-blend-2026-01-01")
    (task,) = await fleet.add([draft])
    await crew.work()
    (run,) = await fleet.runs_of(task.id)
    (line,) = await ledger(fleet)
    assert run.usage.cost_usd == pytest.approx((1000 * 10 + 200 * 100 + 5000 * 1) / 1e6)
    assert line.data["source"] == "priced"
    assert line.data["cost_usd"] == pytest.approx(run.usage.cost_usd)


async def test_a_model_without_a_price_counts_tokens_and_no_money(fleet: Fleet, crew: Crew) -> None:
    told = '{"type": "usage", "input_tokens": 1000}'
    settings(fleet, COMMAND.format(body=f"echo a > a.txt; cat <<X\n{told}\nX\n"))
    await fleet.add([Draft(title="Unknown", coder="command", model="nobody-knows")])
    await crew.work()
    (row,) = await fleet.cost(by=["model"], since=datetime(2020, 1, 1, tzinfo=UTC))
    assert (row.model, row.source) == ("nobody-knows", "unpriced")
    assert row.usage == Usage(input_tokens=1000)


async def test_a_limit_in_money_that_cannot_see_what_is_used_says_so_once(
    fleet: Fleet, crew: Crew
) -> None:
    told = '{"type": "usage", "input_tokens": 1000}'
    body = COMMAND.format(body=f"date > $FLEET_TASK.txt; cat <<X\n{told}\nX\n")
    settings(fleet, "day_budget_usd = 5.0\n" + body)
    for number in (1, 2):
        await fleet.add([Draft(title=f"{number}", coder="command", model="nobody-knows")])
        await crew.work(1)
    assert await warnings(fleet) == [
        "a limit in USD does not cover 1,000 tokens of nobody-knows: "
        "give it a price, `fleet config set prices.nobody-knows ...`"
    ]
    drawn = "\n".join(draw(await fleet.status()))
    assert "today    ?, 2,000 tokens" in drawn
    assert "the fleet has cost 0.00 USD + ? today, 0 % of 5.00 USD allowed" in drawn


async def test_a_program_that_tells_nothing_is_estimated_from_its_characters(
    fleet: Fleet, crew: Crew
) -> None:
    settings(fleet, COMMAND.format(body="echo a > a.txt; echo 12345678901234567890123456789012345"))
    prompt = script("finish") + "x" * 4000
    await fleet.add([Draft(title="Silent", prompt=prompt, coder="command", model="house-blend")])
    await crew.work()
    (line,) = await ledger(fleet)
    assert line.data["source"] == "estimated"
    assert line.data["output_tokens"] == 9
    assert line.data["input_tokens"] > 1000
    assert line.data["cost_usd"] > 0


async def test_a_program_without_a_model_is_not_billed(fleet: Fleet, crew: Crew) -> None:
    settings(fleet, COMMAND.format(body="echo a > a.txt"))
    await fleet.add([Draft(title="A mere script", coder="command")])
    await crew.work()
    assert await ledger(fleet) == []


async def test_a_workflow_that_costs_too_much_starts_no_more_stages_until_its_budget_is_raised(
    fleet: Fleet, crew: Crew
) -> None:
    said = [
        {"name": "a", "prompt": script("write a.txt a", "usage cost=0.5")},
        {"name": "b", "prompt": script("write b.txt b", "usage cost=0.4"), "needs": ["a"]},
        {"name": "c", "prompt": script("write c.txt c", "usage cost=0.3"), "needs": ["b"]},
        {"name": "d", "prompt": script("write d.txt d", "usage cost=0.3"), "needs": ["c"]},
    ]
    plan = workflow.parse({"name": "w", "budget": {"usd": 1.0}, "stages": said})
    flow = await fleet.start(plan)
    await crew.work()
    stands = await fleet.workflow(flow.id)
    first, second, third, last = stands.tasks
    assert (first.state, second.state, last.state) == (*[State.COMPLETED] * 2, State.FAILED)
    assert third.state is State.COMPLETED
    over = f"the workflow {flow.id} cost 1.20 USD of 1.00 USD allowed"
    assert (last.reason, last.note) == (Reason.BUDGET, over)
    assert await warnings(fleet) == [
        f"the workflow {flow.id} has cost 0.90 USD, 90 % of 1.00 USD allowed"
    ]
    line = f"the workflow {flow.id} has cost 1.20 USD, 120 % of 1.00 USD allowed"
    assert stages.summary(stands).endswith(line)
    await fleet.retry_workflow(flow.id, Budget(usd=2.0))
    await crew.work()
    done = await fleet.workflow(flow.id)
    assert done.state is State.COMPLETED
    assert done.limit
    assert done.limit.spent.cost_usd == pytest.approx(1.5)
