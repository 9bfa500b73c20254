"""What the turns of an ACP agent become: many turns over one bridge, as intended."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from codefleet.coders.jsonl import permit, say
from tests.coders.bridges import Bridge, Yard

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bridge(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bridge]:
    yard = Yard(tmp_path_factory.mktemp("bridge"))
    yield await yard.bridge()
    await yard.close()


async def test_pieces_of_a_message_are_joined_and_thoughts_are_kept_out(bridge: Bridge) -> None:
    assert await bridge.turn({"think": "hm"}, {"say": ["I ", "am ", "done."]}) == [
        {"type": "said", "text": "I am done.", "more": False},
        {"type": "finished", "text": "I am done."},
    ]


async def test_a_long_message_comes_in_parts_that_go_on(bridge: Bridge) -> None:
    *said, finished = await bridge.turn({"say": ["a" * 1500, "b" * 10]})
    assert [(line["text"], line["more"]) for line in said] == [
        ("a" * 1500, False),
        ("b" * 10, True),
    ]
    assert finished["text"] == "a" * 1500 + "b" * 10


async def test_a_tool_call_has_a_beginning_an_end_and_its_file(bridge: Bridge) -> None:
    made = bridge.worktree / "src" / "made.txt"
    bridge.say({"edit": str(made)})
    begun = await bridge.until("tool")
    call = begun["call"]
    assert begun == {"type": "tool", "name": "edit", "detail": "src/made.txt", "call": call}
    wants = await bridge.until("wants")
    bridge.send(permit(wants["request"], allowed=True))
    assert [await bridge.line() for _ in range(2)] == [
        {"type": "tool", "name": "edit", "done": True, "call": call, "result": ""},
        {"type": "file", "path": "src/made.txt", "change": "modified"},
    ]
    assert made.read_text() == "made\n"


async def test_a_file_that_rules_forbid_is_not_written_for_an_agent_that_did_not_ask(
    bridge: Bridge,
) -> None:
    forbidden = bridge.worktree / "infra" / "main.tf"
    bridge.say({"edit": str(forbidden)})
    wants = await bridge.until("wants")
    assert (wants["tool"], wants["paths"]) == ("edit", [str(forbidden)])
    bridge.send(permit(wants["request"], allowed=False))
    assert "may not be written" in (await bridge.until("finished"))["text"]
    assert not forbidden.exists()


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/outside.txt", "link/x", ".git", "."])
async def test_no_file_outside_the_worktree_is_written_for_an_agent(
    bridge: Bridge, path: str
) -> None:
    folder = bridge.worktree.parent
    link = bridge.worktree / "link"
    if not link.is_symlink():
        link.symlink_to(folder)
    lines = await bridge.turn({"edit": path})
    assert "is not in the worktree" in lines[-1]["text"]
    assert not (folder / "outside.txt").exists()
    assert not (folder / "x").exists()


@pytest.mark.parametrize(("allowed", "chosen"), [(True, "yes"), (False, "no")])
async def test_leave_is_asked_for_and_given_for_once_only(
    bridge: Bridge, allowed: bool, chosen: str
) -> None:
    bridge.say({"ask": "rm -r build"})
    wants = await bridge.until("wants")
    assert wants == {
        "type": "wants",
        "request": wants["request"],
        "tool": "execute",
        "detail": "rm -r build",
        "input": '{"command": "rm -r build"}',
        "paths": [],
    }
    bridge.send(permit("other", allowed=not allowed))
    bridge.send(permit(wants["request"], allowed=allowed))
    assert (await bridge.until("finished"))["text"] == chosen


async def test_words_said_meanwhile_get_a_turn_of_their_own(bridge: Bridge) -> None:
    bridge.say({"ask": "make"})
    wants = await bridge.until("wants")
    bridge.say({"say": ["second"]})
    bridge.send(permit(wants["request"], allowed=True))
    assert (await bridge.until("finished"))["text"] == "yes"
    assert (await bridge.until("finished"))["text"] == "second"


async def test_the_same_words_said_twice_are_heard_once(bridge: Bridge) -> None:
    again = say("again", json.dumps([{"say": ["once"]}]))
    bridge.send(again)
    bridge.send(again)
    bridge.say({"say": ["then"]})
    assert (await bridge.until("finished"))["text"] == "once"
    assert (await bridge.until("finished"))["text"] == "then"


async def test_tokens_context_and_money_are_told(bridge: Bridge) -> None:
    assert (await bridge.turn({"use": 300}))[:3] == [
        {"type": "context", "used": 300, "size": 1000},
        {"type": "usage", "cost_usd": 0.25, "in_all": True},
        {"type": "usage", "input_tokens": 300, "output_tokens": 7, "cached_tokens": 0},
    ]


async def test_what_is_no_message_is_survived(bridge: Bridge) -> None:
    noise = ["", "Loading...", "null", "5", "[]", "{", '{"id": []}', '{"method": 5}', '{"id": 99}']
    noise += ['{"id": 99, "error": "bad"}', '{"method": "session/update", "params": 5}']
    noise += ['{"method": "session/update", "params": {"update": {"sessionUpdate": "new"}}}']
    lines = await bridge.turn({"babble": noise}, {"say": ["fine"]})
    assert lines[-1] == {"type": "finished", "text": "fine"}


async def test_a_message_of_eight_megabytes_arrives_whole(bridge: Bridge) -> None:
    lines = await bridge.turn({"say": ["y" * (8 << 20), "fine"]})
    assert lines[-1]["text"] == "y" * (8 << 20) + "fine"
