"""How bridges to ACP agents start, break and end, with an agent that can misbehave."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from codefleet.coders.acp import coder
from tests.coders.assignments import assignment
from tests.coders.bridges import BOUND_S, ENDPOINT, Line, Yard

pytestmark = pytest.mark.slow


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncIterator[Yard]:
    yard = Yard(tmp_path)
    yield yard
    await yard.close()


async def test_a_bridge_ends_well_when_no_more_is_said(yard: Yard) -> None:
    bridge = await yard.bridge()
    assert await bridge.line() == {"type": "started", "session": "s1", "model": None}
    bridge.say({"say": ["one"]})
    bridge.say({"say": ["two"]})
    bridge.close_input()
    ends = [line["text"] for line in await bridge.rest() if line["type"] == "finished"]
    assert ends == ["one", "two"]
    assert await bridge.process.wait() == 0


async def test_when_nobody_is_left_to_ask_leave_is_refused(yard: Yard) -> None:
    bridge = await yard.bridge()
    bridge.say({"ask": "rm -r build"})
    bridge.close_input()
    assert (await bridge.until("finished"))["text"] == "no"


@pytest.mark.parametrize(
    ("deed", "last"),
    [
        ({"stop": "refusal"}, {"type": "broke", "text": "the agent refused: Never."}),
        ({"fail": [429, "Slow down"]}, {"type": "limit", "text": "Slow down"}),
    ],
)
async def test_a_turn_that_ends_badly_ends_the_bridge(
    yard: Yard, deed: dict[str, Any], last: Line
) -> None:
    bridge = await yard.bridge()
    bridge.say({"say": ["Never."]}, deed)
    assert (await bridge.rest())[-1] == last
    assert await bridge.process.wait() == 1


@pytest.mark.parametrize("how", ["die", "die as parent"])
async def test_an_agent_that_dies_leaves_its_last_words(yard: Yard, how: str) -> None:
    lines = await (await yard.bridge()).turn({"say": ["I beg"]}, {how: 3})
    told = "the agent ended with 3\nsegmentation fault, more or less"
    assert lines[-1] == {"type": "broke", "text": told, "reason": "crashed"}


async def test_a_stopped_bridge_cancels_the_turn_and_says_no_more(yard: Yard) -> None:
    bridge = await yard.bridge()
    bridge.say({"wait": True})
    await bridge.until("said")
    bridge.process.send_signal(signal.SIGTERM)
    assert await bridge.rest() == []


async def test_an_agent_that_will_not_be_cancelled_is_ended_all_the_same(yard: Yard) -> None:
    bridge = await yard.bridge()
    bridge.say({"ignore": True})
    await bridge.until("said")
    [agent] = psutil.Process(bridge.process.pid).children()
    bridge.process.send_signal(signal.SIGINT)
    assert await bridge.rest() == []
    await asyncio.wait_for(bridge.process.wait(), BOUND_S)
    assert not agent.is_running()


async def test_a_session_is_resumed_and_its_old_story_not_told_again(yard: Yard) -> None:
    await (await yard.bridge()).turn({"say": ["one"]})
    bridge = await yard.bridge(resume="s1")
    bridge.say({"say": ["two"]})
    bridge.close_input()
    started, *lines = await bridge.rest()
    assert started["session"] == "s1"
    assert [line["text"] for line in lines] == ["two", "two"]


@pytest.mark.parametrize("way", ["forgetful", "good"])
async def test_what_cannot_be_resumed_is_begun_anew(yard: Yard, way: str) -> None:
    bridge = await yard.bridge(way, resume="s77")
    assert (await bridge.until("started"))["session"] == "s1"


async def test_an_agent_that_can_gets_its_tools_over_http_and_the_token_only_there(
    yard: Yard,
) -> None:
    bridge = await yard.bridge("over-http")
    await bridge.until("started")
    told = json.loads((yard.folder / "notes" / "s1").read_text())
    [server] = told["servers"]
    assert (server["name"], server["type"], server["url"]) == ("fleet", "http", ENDPOINT.url)
    [header] = server["headers"]
    assert (header["name"], header["value"]) == ("Authorization", f"Bearer {ENDPOINT.token}")
    assert "FLEET_RUN_TOKEN" not in told["env"]


async def test_an_agent_that_cannot_gets_a_server_of_its_own(yard: Yard) -> None:
    bridge = await yard.bridge()
    await bridge.until("started")
    [server] = json.loads((yard.folder / "notes" / "s1").read_text())["servers"]
    assert (server["command"], server["args"]) == ("fleet", ["mcp"])


async def test_the_mode_is_set_that_was_asked_for(yard: Yard) -> None:
    lines = await (await yard.bridge(mode="bold")).turn({"mode": True})
    assert lines[-1] == {"type": "finished", "text": "bold"}


async def test_a_mode_that_does_not_exist_is_told(yard: Yard) -> None:
    broke = await (await yard.bridge(mode="reckless")).until("broke")
    assert broke["reason"] == "coder_missing"
    assert broke["text"].startswith("the agent refuses the mode reckless")


async def test_a_locked_agent_says_how_to_log_in(yard: Yard) -> None:
    broke = await (await yard.bridge("locked-with-key")).until("broke")
    assert broke["reason"] == "auth"
    assert "coders.acp.auth to one of: browser, key" in broke["text"]


async def test_a_key_in_the_environment_opens_an_agent(yard: Yard) -> None:
    bridge = await yard.bridge("locked-with-key", env={"SMALL_AGENT_KEY": "sesame"})
    assert (await bridge.until("started"))["session"] == "s1"


async def test_the_way_to_log_in_can_be_named(yard: Yard) -> None:
    bridge = await yard.bridge("locked", auth="browser")
    assert (await bridge.until("started"))["session"] == "s1"


async def test_an_agent_of_another_version_is_not_used(yard: Yard) -> None:
    broke = await (await yard.bridge("from-the-future")).until("broke")
    assert broke["text"] == "it speaks version 2 of ACP, not 1"
    assert broke["reason"] == "coder_missing"


async def test_a_program_that_is_not_there_is_told(yard: Yard) -> None:
    start = coder.start(assignment(yard.folder, options={"argv": ["no-such-agent"]}))
    process = await asyncio.create_subprocess_exec(
        *start.argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert json.loads(out) == {
        "type": "broke",
        "text": "cannot run no-such-agent: No such file or directory",
        "reason": "coder_missing",
    }


async def test_who_waits_for_leave_in_a_stopped_bridge_is_told_that_all_is_cancelled(
    yard: Yard,
) -> None:
    bridge = await yard.bridge()
    bridge.say({"ask": "make"}, {"edit": "never.txt"})
    await bridge.until("wants")
    bridge.process.send_signal(signal.SIGTERM)
    assert [line["text"] for line in await bridge.rest()] == ["cancelled"]
    assert not (yard.worktree / "never.txt").exists()
