"""Every tool, called wrongly in every way: a clear refusal, and nothing has changed."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from codefleet.doors.mcp.house import House
from codefleet.doors.mcp.server import TOOLSETS, assemble
from codefleet.fleet import Fleet
from codefleet.wiring import open_fleet

HUGE = "x" * 2_000_000
WRONG: tuple[Any, ...] = (
    *(None, True, -1, 1e308, 10**30, "", "\0", "no-such-thing", "../../etc/passwd", HUGE),
    *([], [None], ["no-such-thing"], [[[]]], [{"name": "x"}], {}, {"a": {"b": HUGE}}),
)
ALLOWED = {"healthcheck", "executor_guide"}


@pytest.fixture
async def fleet(home: Path) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True) as fleet:
        yield fleet


def mistaken(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Calls in which one argument is wrong and the others at least look right."""
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
    async with Client(assemble(House(fleet), [toolset], "1")) as client:
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
    assert await fleet.events() == []
    assert await fleet.repos() == []
    assert not (fleet.home / "logs" / "crash.log").exists()


async def test_what_nobody_expected_is_no_traceback_but_a_pointer_to_the_log(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def explode(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(fleet, "inbox", explode)
    async with Client(assemble(House(fleet), ["commander"], "1")) as client:
        told = await client.call_tool("list_inbox", {})
    assert told.is_error
    assert "secret detail" not in str(told)
    assert "secret detail" in (fleet.home / "logs" / "crash.log").read_text()


async def test_the_tools_of_agents_are_refused_to_those_who_are_none(fleet: Fleet) -> None:
    async with Client(assemble(House(fleet), ["agent"], "1")) as client:
        told = await client.call_tool("report_progress", {"text": "half"})
    assert told.is_error
    assert "not bound to a run" in str(told.structured_content)
