"""kill -9 of the runner in mid-conversation: each answer and each message arrives once."""

import json
import random
from collections import Counter

import pytest

from codefleet.domain.model import Draft, Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.paths import Paths
from tests.faults.conftest import SETTINGS, Runners, agents_alive, until
from tests.gitrepo import SampleRepo
from tests.script import script

RULES = """
[[policy]]
tool = "append"
then = "allow"
[[policy]]
tool = "delete"
then = "deny"
"""
TALKS = 4
MESSAGES = 3

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def talk(number: int) -> Draft:
    rounds = [
        step
        for _ in range(MESSAGES)
        for step in (
            f"want append heard-{number}.txt 'may do'",
            "want delete README.md",
            "listen",
            f"append heard-{number}.txt {{{{message}}}}",
        )
    ]
    return Draft(title=f"Talk {number}", prompt=script("say begun", *rounds))


async def test_kills_of_the_runner_in_the_middle_of_talks_lose_and_repeat_nothing(
    fleet: Fleet, repo: SampleRepo, runners: Runners
) -> None:
    (fleet.home / "fleet.toml").write_text(SETTINGS + RULES)
    chance = random.Random(11)
    tasks = list(await fleet.add([talk(number) for number in range(TALKS)]))
    runner = runners.start()
    await until(lambda: _all_have_begun(fleet, tasks))
    for number in range(MESSAGES):
        # Every message is sent and delivered, so there are at least this many events.
        goal = await fleet.core.store.last_seq() + TALKS + chance.randint(1, TALKS)
        for task in tasks:
            await fleet.send(task.id, f"word {number}")

        async def has_come_further(goal: int = goal) -> bool:
            return await fleet.core.store.last_seq() >= goal

        await until(has_come_further)
        runners.kill(runner)
        runner = runners.start()
    await runners.finished(runner)
    for number, task in enumerate(tasks):
        await assert_all_was_said_once(fleet, repo, task, number)
    assert agents_alive(fleet.home) == []


async def _all_have_begun(fleet: Fleet, tasks: list[Task]) -> bool:
    said = await fleet.core.store.events(kinds=["run.said"])
    return {event.task for event in said} == {task.id for task in tasks}


async def assert_all_was_said_once(fleet: Fleet, repo: SampleRepo, task: Task, number: int) -> None:
    assert (await fleet.get(task.id)).state is State.COMPLETED
    [run] = await fleet.runs_of(task.id)
    heard = [line for n in range(MESSAGES) for line in ("may do", f"word {n}")]
    assert repo.read("main", f"heard-{number}.txt").splitlines() == heard
    said = (Paths(fleet.home).run(run) / "input.jsonl").read_text().splitlines()
    assert Counter(json.loads(line)["type"] for line in said) == {
        "say": 1 + MESSAGES,
        "permit": 2 * MESSAGES,
    }
    told = await fleet.core.store.events(
        task=task.id, kinds=["run.permission", "message.delivered"]
    )
    kinds = Counter(event.data.get("verdict", event.kind) for event in told)
    assert kinds == {"allow": MESSAGES, "deny": MESSAGES, "message.delivered": MESSAGES}
