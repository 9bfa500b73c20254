"""Every tool, called wrongly in every way: a clear refusal, and nothing changes."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from codefleet.doors.mcp.server import TOOLSETS, assemble
from codefleet.doors.mcp.toolset import ServerContext
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.wiring import open_fleet
from tests.doors.mcp.conftest import Caller
from tests.gitrepo import SampleRepo

HUGE = "x" * 2_000_000
WRONG: tuple[Any, ...] = (
    *(None, True, -1, 1e308, 10**30, "", "\0", "\ud800", "no-such-thing", "../../etc/passwd", HUGE),
    *([], [None], ["no-such-thing"], [[[]]], [{"name": "x"}], {}, {"a": {"b": HUGE}}),
)
ALLOWED = {"healthcheck", "executor_guide"}
FREE_TEXT = {"swarm.created", "message.sent", "checkpoint.created"}
"""What a tool may do with any text: nothing is wrong with it."""


@pytest.fixture
async def fleet(home: Path) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True) as fleet:
        yield fleet


def mistaken(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Calls with one wrong argument, where the others at least look right."""
    known = schema.get("properties", {})
    usual = {name: _usual(known[name]) for name in schema.get("required", ())}
    yield {}
    yield {**usual, "no_such_argument": 1}
    for name in known:
        for wrong in WRONG:
            yield {**usual, name: wrong}


def _usual(schema: dict[str, Any]) -> Any:
    return {"array": ["zzzz"], "integer": 1, "number": 1}.get(schema.get("type", ""), "zzzz")


@pytest.mark.parametrize("toolset", TOOLSETS)
async def test_a_wrong_call_is_refused_in_our_words_and_changes_nothing(
    fleet: Fleet, toolset: str
) -> None:
    async with Client(assemble(ServerContext(fleet), [toolset], "1")) as client:
        for tool in (await client.list_tools()).tools:
            if tool.name in ALLOWED:
                continue
            for arguments in mistaken(tool.input_schema):
                told = await client.call_tool(tool.name, arguments)
                if told.is_error:
                    error = told.structured_content
                    assert isinstance(error, dict), (tool.name, told)
                    assert set(error) == {"code", "problem", "hint"}
                    assert error["code"] != "error", (tool.name, arguments, error)
                    assert error["problem"]
                    assert len(error["problem"]) < 1000
    assert {event.kind for event in await fleet.events()} <= FREE_TEXT
    assert await fleet.repos() == []
    assert not (fleet.home / "logs" / "crash.log").exists()


async def test_what_nobody_expected_is_no_traceback_but_a_pointer_to_the_log(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def explode(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(fleet, "inbox", explode)
    async with Client(assemble(ServerContext(fleet), ["commander"], "1")) as client:
        told = await client.call_tool("list_inbox", {})
    assert told.is_error
    assert "secret detail" not in str(told)
    assert "secret detail" in (fleet.home / "logs" / "crash.log").read_text()


async def test_the_tools_of_agents_are_refused_to_those_who_are_none(fleet: Fleet) -> None:
    async with Client(assemble(ServerContext(fleet), ["agent"], "1")) as client:
        told = await client.call_tool("report_progress", {"text": "half"})
    assert told.is_error
    assert "you are not one" in str(told.structured_content)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"base_ref": "no-such-ref"}, "there is no commit 'no-such-ref'"),
        ({"base_ref": "--help"}, "there is no commit '--help'"),
        ({"base_ref": "a\0b"}, "there is no commit"),
        ({"base_ref": "x" * 300_000}, "there is no commit"),
        ({"repo_path": "~nobody-of-this-name/shop"}, "there is no folder ~nobody-of-this-name"),
        ({"executor": "claude", "model": "gpt-9"}, "claude has no model 'gpt-9'"),
        ({"executor": "gemini", "reasoning_effort": "high"}, "gemini has no option effort"),
        ({"executor": "clawd"}, "no coder 'clawd'"),
        ({"task_name": " "}, "a title needs at least one visible character"),
        ({"task_name": "\0"}, "a title needs at least one visible character"),
        ({"timeout_seconds": -1}, "timeout_s: should be a number"),
    ],
)
async def test_a_worker_that_could_only_fail_is_refused(
    fleet: Fleet, repo: SampleRepo, wrong: dict[str, Any], says: str
) -> None:
    right = {"repo_path": str(repo.path), "task_name": "Paint", "prompt": "Paint it"}
    async with Client(assemble(ServerContext(fleet), ["workers"], "1")) as client:
        error = await Caller(client).refused("create_worker", **{**right, **wrong})
    assert says in error["problem"]
    assert len(error["problem"]) < 1000
    assert await fleet.list(TaskQuery()) == []


async def test_a_teammate_without_a_title_that_one_can_see_is_refused(
    fleet: Fleet, repo: SampleRepo
) -> None:
    async with Client(assemble(ServerContext(fleet), ["team"], "1")) as client:
        for wrong in ({"prompt": "\0"}, {"prompt": "Paint it", "title": " "}):
            error = await Caller(client).refused("team_spawn", repo_path=str(repo.path), **wrong)
            assert error["problem"] == "a title needs at least one visible character"
    assert await fleet.list(TaskQuery()) == []


async def test_a_workflow_and_tasks_from_a_ref_that_is_none_are_refused(
    fleet: Fleet, repo: SampleRepo
) -> None:
    async with Client(assemble(ServerContext(fleet), [], "1")) as client:
        call = Caller(client)
        flow = await call.refused(
            "create_workflow",
            name="paint",
            repo_path=str(repo.path),
            task_prompt="Paint",
            base_ref="no-such-ref",
            stages=[{"name": "a", "prompt": "{task_prompt}"}],
        )
        tasks = [{"title": "Paint", "base": "no-such-ref"}]
        told = await call.refused("create_task", tasks=tasks, repo_path=str(repo.path))
    assert "no commit 'no-such-ref'" in flow["problem"]
    assert "no commit 'no-such-ref'" in told["problem"]
    assert await fleet.list(TaskQuery()) == []


async def test_a_status_that_is_none_finds_no_empty_list_but_a_refusal(fleet: Fleet) -> None:
    async with Client(assemble(ServerContext(fleet), [], "1")) as client:
        for tool in ("list_workers", "list_workflows"):
            error = await Caller(client).refused(tool, statuses=["done"])
            assert error["problem"] == "there is no status 'done'"
            assert "succeeded" in error["hint"]


async def test_a_prompt_without_its_argument_is_refused_by_its_name(fleet: Fleet) -> None:
    async with Client(assemble(ServerContext(fleet), [], "1")) as client:
        with pytest.raises(MCPError, match="goal"):
            await client.get_prompt("plan_this", {})
        with pytest.raises(MCPError, match="no_such_prompt"):
            await client.get_prompt("no_such_prompt", {})
        with pytest.raises(MCPError, match="what_needs_me has no argument 'goal'"):
            await client.get_prompt("what_needs_me", {"goal": "Paint"})


def test_an_empty_token_opens_no_door(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("\n")
    command = [sys.executable, "-m", "codefleet", "mcp", "--token-file", str(file)]
    env = {**os.environ, "FLEET_HOME": str(home)}
    for more in ([], ["--http"]):
        done = subprocess.run(
            [*command, *more], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert done.returncode != 0
        assert "token" in done.stderr
