"""An ACP agent in a fleet: its work lands, its requests are answered, and its end is noticed."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Draft, Task
from codefleet.domain.validation import checked
from codefleet.domain.words import Outcome, Reason, State
from codefleet.fleet import Fleet
from tests.coders.bridges import AGENT
from tests.faults.conftest import agents_alive
from tests.gitrepo import SampleRepo
from tests.stories.conftest import BOUND_S, Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, object]:
    """All tasks go to the small ACP agent, and humans are asked about its commands."""
    argv = [sys.executable, str(AGENT), f"--notes={tmp_path / 'notes'}"]
    asks = {"tool": "execute", "then": "ask"}
    return {"coder": "acp", "coders": {"acp": {"argv": argv}}, "policy": [asks]}


@pytest.fixture
def add(fleet: Fleet) -> Add:
    async def one(*deeds: dict[str, object], **fields: object) -> Task:
        given = {"title": "Do it", "prompt": json.dumps(deeds), **fields}
        return (await fleet.add([checked(Draft, given)]))[0]

    return one


async def test_a_request_waits_for_a_human_and_the_session_goes_on(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, settings: dict[str, object]
) -> None:
    task = await add({"edit": "made.txt"}, {"ask": "make all"}, {"use": 300})
    await crew.work(1, **settings)
    [item] = await fleet.inbox()
    assert (item.kind, item.text) == ("permission", "May it use execute?\nmake all")
    await fleet.answer(task.id, "allow")
    await crew.work(1, **settings)
    asked, resumed = await fleet.runs_of(task.id)
    assert (asked.outcome, resumed.outcome) == (Outcome.ASKED, Outcome.SUBMITTED), resumed.note
    assert (asked.session, resumed.session) == ("s1", "s1")
    assert resumed.usage.input_tokens == 300
    assert resumed.usage.cost_usd == 0.25
    assert repo.read("main", "made.txt") == "made\n"
    assert agents_alive(fleet.home) == []


async def test_an_agent_that_dies_fails_the_run_with_its_last_words(
    fleet: Fleet, crew: Crew, add: Add, settings: dict[str, object]
) -> None:
    task = await add({"die": 3}, max_attempts=1)
    await crew.work(1, **settings)
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.CRASHED)
    assert "the agent ended with 3\nsegmentation fault" in failed.note


async def test_a_cancelled_agent_leaves_nobody_behind(
    fleet: Fleet, crew: Crew, add: Add, settings: dict[str, object]
) -> None:
    task = await add({"ignore": True})
    working = asyncio.create_task(crew.loop(1, until_idle=True, **settings).run())

    async def begun() -> bool:
        return bool(await fleet.core.store.events(task=task.id, kinds=["run.said"]))

    await crew.wait_for(begun)
    await fleet.cancel(task.id)
    await asyncio.wait_for(working, BOUND_S)
    assert (await fleet.get(task.id)).state is State.CANCELLED
    assert agents_alive(fleet.home) == []
