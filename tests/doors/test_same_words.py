"""A draft that could only fail is refused at every door, with the same sentence."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from codefleet.domain.errors import FleetError
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, RunnerId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.doors.mcp.server import assemble
from codefleet.doors.mcp.toolset import ServerContext
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import TaskQuery
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.doors.conftest import Cli
from tests.gitrepo import SampleRepo

BAD: list[tuple[dict[str, Any], str]] = [
    ({"coder": "clawd"}, "no coder 'clawd'"),
    ({"coder": "scripted", "fallback": "clawd"}, "no coder 'clawd'"),
    ({"coder": "claude", "model": "gpt-9"}, "claude has no model 'gpt-9'"),
    ({"base": "no-such-ref"}, "there is no commit 'no-such-ref'"),
    ({"scope": ["../x"]}, "../x"),
    ({"not_before": "+2 moons"}, "'+2 moons' is not a duration"),
    ({"not_before": "soon"}, "'soon' is not a time"),
    ({"timeout_s": "2 moons"}, "'2 moons' is not a duration"),
]


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True) as fleet:
        await register(fleet, repo.path)
        yield fleet


async def refused_by_library(fleet: Fleet, said: dict[str, Any]) -> str:
    with pytest.raises(FleetError) as refused:
        await fleet.add([Draft(title="Bad", **said)])
    return refused.value.problem


async def refused_by_tool(fleet: Fleet, tool: str, said: dict[str, Any]) -> str:
    async with Client(assemble(ServerContext(fleet), [tool], "1")) as client:
        told = await client.call_tool("create_task", {"tasks": [{"title": "Bad", **said}]})
    assert told.is_error
    assert told.structured_content
    return str(told.structured_content["problem"])


def refused_by_file(cli: Cli, folder: Path, said: dict[str, Any]) -> str:
    file = folder / "tasks.json"
    file.write_text(json.dumps([{"title": "Bad", **said}]))
    done = cli("add", "--file", str(file))
    assert done.code
    return done.err


@pytest.mark.parametrize(("said", "sentence"), BAD)
async def test_the_library_and_the_tools_refuse_a_bad_draft_alike(
    fleet: Fleet, said: dict[str, Any], sentence: str
) -> None:
    assert sentence in await refused_by_library(fleet, said)
    assert sentence in await refused_by_tool(fleet, "commander", said)
    assert await fleet.list(TaskQuery()) == []


@pytest.mark.parametrize(("said", "sentence"), BAD)
def test_a_file_of_tasks_is_refused_in_the_same_words(
    cli: Cli, home: Path, repo: SampleRepo, tmp_path: Path, said: dict[str, Any], sentence: str
) -> None:
    cli("init")
    assert sentence in refused_by_file(cli, tmp_path, said)


async def test_every_door_understands_a_time_from_now(fleet: Fleet) -> None:
    now = await fleet.now()
    (mine,) = await fleet.add([Draft(title="Later", not_before="+2h", timeout_s="90m")])  # type: ignore[arg-type]
    later = {"title": "Later", "not_before": "+2h", "timeout_s": "90m"}
    await fleet.add(await ServerContext(fleet).drafts([later], None))
    for task in await fleet.list(TaskQuery()):
        assert task.not_before
        assert 7200 <= (task.not_before - now).total_seconds() < 7300
        assert task.timeout_s == 5400
    changed = await fleet.edit(mine.id, not_before="+1d")
    assert changed.not_before
    assert (changed.not_before - now).days == 1


async def test_the_commander_edits_pauses_and_resumes(fleet: Fleet) -> None:
    (task,) = await fleet.add([Draft(title="Greet")])
    seat = Seat("agent-1", RunnerId("r"), "lab", "scripted")
    async with Client(assemble(ServerContext(fleet), ["commander"], "1")) as client:
        call = client.call_tool
        await call("edit_task", {"task_id": task.id, "changes": {"priority": 5, "ref": 1}})
        assert (await fleet.get(task.id)).priority == 3
        await call("edit_task", {"task_id": task.id, "changes": {"priority": 5}})
        await call("pause_task", {"task_id": task.id})
        assert (await fleet.get(task.id)).priority == 5
        assert not await Dispatch(fleet).claim([seat], ClaimFilter())
        await fleet.resume(task.id)
        assert len(await Dispatch(fleet).claim([seat], ClaimFilter())) == 1
