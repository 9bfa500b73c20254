"""Many workflows with instant agents, more agents than seats, and kill -9: nothing hangs, and no
stage runs twice. `WORKFLOW_ROUNDS=200` makes the first of them ten times as long."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from codefleet.domain.views import WorkflowStatus
from codefleet.domain.words import State
from codefleet.domain.workflow import workflow
from codefleet.domain.workflow.plan import Plan
from codefleet.fleet import Fleet
from tests.faults.conftest import Runners, agents_alive, until
from tests.gitrepo import SampleRepo
from tests.script import script

CHAINS = 8
ROUNDS = int(os.environ.get("WORKFLOW_ROUNDS", "20"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(30 * ROUNDS + 300)]


def stage(name: str, *steps: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "prompt": script(*steps), **more}


def chains(*steps: str) -> Plan:
    """Eight chains of two stages, and one that inherits from all."""
    stages = []
    for n in range(CHAINS):
        stages.append(stage(f"a{n}", *steps, f"write a{n}.txt a"))
        stages.append(stage(f"b{n}", *steps, f"write b{n}.txt b", needs=[f"a{n}"], inherit=True))
    ends = [f"b{n}" for n in range(CHAINS)]
    stages.append(stage("join", "write join.txt j", needs=ends, inherit=True))
    return workflow.parse({"name": "chains", "stages": stages})


async def assert_ran_once(fleet: Fleet, stands: WorkflowStatus) -> None:
    assert Counter(task.state for task in stands.tasks) == {State.COMPLETED: len(stands.tasks)}
    runs = await fleet.core.store.runs(tasks=[task.id for task in stands.tasks])
    assert Counter(run.task for run in runs) == {task.id: 1 for task in stands.tasks}


def files(repo: SampleRepo, branch: str | None) -> set[str]:
    return set(repo.git("ls-tree", "--name-only", str(branch)).split())


ALL = {f"{letter}{n}.txt" for letter in "ab" for n in range(CHAINS)} | {"join.txt", "README.md"}


async def test_chains_that_join_never_hang_and_never_run_a_stage_twice(
    fleet: Fleet, repo: SampleRepo, runners: Runners
) -> None:
    for _ in range(ROUNDS):
        flow = await fleet.start(chains())
        await runners.finished(runners.start(agents=8))
        stands = await fleet.workflow(flow.id)
        await assert_ran_once(fleet, stands)
        assert files(repo, stands.tasks[-1].branch) == ALL


async def test_a_killed_runner_in_the_middle_of_a_workflow_repeats_no_stage(
    fleet: Fleet, repo: SampleRepo, runners: Runners
) -> None:
    flow = await fleet.start(chains("wait 0.2"))
    for kills in range(1, 5):
        runner = runners.start(agents=4)

        async def some_are_done(kills: int = kills) -> bool:
            stands = await fleet.workflow(flow.id)
            return sum(task.state is State.COMPLETED for task in stands.tasks) >= 3 * kills

        await until(some_are_done)
        runners.kill(runner)
    await runners.finished(runners.start(agents=4))
    stands = await fleet.workflow(flow.id)
    await assert_ran_once(fleet, stands)
    assert files(repo, stands.tasks[-1].branch) == ALL
    assert agents_alive(fleet.home) == []


async def test_sixty_stages_over_fifty_seats_all_complete(
    fleet: Fleet, home: Path, runners: Runners
) -> None:
    parts = [stage(f"part-{n}", f"write part-{n}.txt x") for n in range(60)]
    join = stage("join", "result completed_no_changes Fine", needs=[part["name"] for part in parts])
    flow = await fleet.start(workflow.parse({"stages": [*parts, join]}))
    await runners.finished(runners.start(agents=50))
    await assert_ran_once(fleet, await fleet.workflow(flow.id))


async def test_twenty_agents_that_exit_at_once_all_come_to_an_end(
    fleet: Fleet, home: Path, runners: Runners
) -> None:
    (home / "fleet.toml").write_text(
        'attempts = 1\nrest_s = 0.0\ndurability = "normal"\n[coders.command]\nargv = ["true"]\n'
    )
    stages = [{"name": f"s{n}", "coder": "command", "prompt": "x"} for n in range(20)]
    flow = await fleet.start(workflow.parse({"stages": stages}))
    runner = runners.start(agents=10)

    async def all_ended() -> bool:
        return all(task.state.is_final for task in (await fleet.workflow(flow.id)).tasks)

    await until(all_ended)
    assert runner.wait(timeout=60) == 1
    assert not await fleet.core.store.runs(live=True)
