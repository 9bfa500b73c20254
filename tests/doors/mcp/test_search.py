"""Finding similar tasks, before one is created twice."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp.client.client import Client

from codefleet.domain.model import Draft
from codefleet.doors.mcp.server import assemble
from codefleet.doors.mcp.toolset import ServerContext
from codefleet.fleet import Fleet, similar
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.doors.mcp.conftest import Caller
from tests.gitrepo import SampleRepo


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True) as fleet:
        await register(fleet, repo.path)
        yield fleet


async def found(fleet: Fleet, query: str) -> list[str]:
    async with Client(assemble(ServerContext(fleet), ["commander"], "1")) as client:
        told = await Caller(client)("find_similar_tasks", query=query)
    return [task["title"] for task in told["tasks"]]


async def test_the_nearest_comes_first_and_a_word_spelt_otherwise_is_found_too(
    fleet: Fleet,
) -> None:
    await fleet.add(
        [
            Draft(title="Paint the wall"),
            Draft(title="Validate the registration form"),
            Draft(title="Sign up", prompt="Add validation to the registration endpoint."),
        ]
    )
    assert await found(fleet, "validation of registration") == [
        "Sign up",
        "Validate the registration form",
    ]
    assert await found(fleet, "registratoin form") == ["Validate the registration form"]
    assert await found(fleet, "quantum chess") == []


async def test_an_old_task_is_found_by_its_words_however_many_came_after_it(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similar, "NEWEST", 5)
    await fleet.add([Draft(title="Validate the registration form")])
    await fleet.add([Draft(title=f"Paint wall {number}") for number in range(20)])
    await fleet.cancel((await fleet.search("registration"))[0][1].id)
    assert await found(fleet, "registration form") == ["Validate the registration form"]
