"""The acp coder: what it starts, and what agents' messages mean."""

import json
from pathlib import Path, PurePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.coders import jsonl
from codefleet.coders.acp import coder
from codefleet.coders.acp.failures import meaning
from codefleet.coders.acp.reading import Reading
from codefleet.coders.acp.wire import parsed
from codefleet.domain.errors import BadConfig
from codefleet.domain.signals import Broke, Limited, Wants
from codefleet.domain.words import Reason
from tests.coders.assignments import assignment
from tests.coders.test_reading import json_values, paths, swapped

GEMINI = ["gemini", "--acp"]
AGENTS = {"argv": GEMINI, "agents": {"open": {"argv": ["opencode", "acp"], "mode": "build"}}}
UPDATES: list[dict[str, Any]] = [
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi"}},
    {
        "sessionUpdate": "tool_call",
        "toolCallId": "c1",
        "title": "Edit",
        "kind": "edit",
        "status": "completed",
        "locations": [{"path": "/code/a.py"}],
        "content": [{"type": "diff", "path": "/code/b.py", "newText": "x"}],
        "rawInput": {"command": "ls"},
    },
    {
        "sessionUpdate": "usage_update",
        "used": 5,
        "size": 10,
        "cost": {"amount": 0.5, "currency": "USD"},
    },
]
RESPONSE = {
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 2, "cachedReadTokens": 3, "thoughtTokens": 4},
    "_meta": {"quota": {"token_count": {"input_tokens": 7, "output_tokens": 8}}},
}


def argv(home: Path, options: dict[str, object], model: str | None = None) -> list[str]:
    start = coder.start(assignment(home, model=model, options=options))
    return list(start.argv[start.argv.index("-P") + 2 :])


def test_the_agent_stands_behind_the_flags(tmp_path: Path) -> None:
    given: dict[str, object] = {"argv": GEMINI, "mode": "yolo", "auth": "key"}
    assert argv(tmp_path, given, "pro") == [
        *("--mode=yolo", "--auth=key", "--model=pro", "--", "gemini", "--acp"),
    ]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (None, ["--", *GEMINI]),
        ("pro", ["--model=pro", "--", *GEMINI]),
        ("open", ["--mode=build", "--", "opencode", "acp"]),
        ("open/a/b", ["--mode=build", "--model=a/b", "--", "opencode", "acp"]),
    ],
)
def test_a_model_can_begin_with_the_name_of_an_agent(
    tmp_path: Path, model: str | None, words: list[str]
) -> None:
    assert argv(tmp_path, dict(AGENTS), model) == words


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "coders.acp.argv is not set"),
        ({"argv": "gemini"}, "argv is not a list"),
        ({"agents": []}, "agents is not a table"),
        ({"agents": {"open": AGENTS}}, "does not name an agent"),
        ({"argv": GEMINI, "speed": 9}, "has no option speed"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    tmp_path: Path, options: dict[str, object], problem: str
) -> None:
    with pytest.raises(BadConfig, match=problem) as told:
        argv(tmp_path, options)
    assert told.value.hint


def test_only_tools_with_rules_are_asked_about(tmp_path: Path) -> None:
    run = assignment(tmp_path, options={"argv": GEMINI})._replace(judged=["edit", "exec*"])
    assert [w for w in coder.start(run).argv if "judged" in w] == [
        *("--judged=edit", "--judged=exec*")
    ]


def test_the_tools_of_a_run_are_a_server_of_the_session(tmp_path: Path) -> None:
    run = assignment(tmp_path, options={"argv": GEMINI}, tools=("fleet", "--home=x"))
    assert [w for w in coder.start(run).argv if "server" in w] == [
        *("--server=fleet", "--server=--home=x")
    ]


def test_what_is_said_to_the_bridge_are_lines_of_our_protocol() -> None:
    assert json.loads(coder.say("m1", "Hurry\nup")) == {
        "type": "say",
        "id": "m1",
        "text": "Hurry\nup",
    }
    answer = coder.permit(Wants("7", "execute"), allowed=False, why="no")
    assert json.loads(answer) == {
        "type": "permit",
        "request": "7",
        "allowed": False,
        "why": "no",
    }


@pytest.mark.parametrize(
    ("code", "message", "data", "reason"),
    [
        (429, "Rate limit exceeded. Try again later.", None, None),
        (-32603, "slow", {"errorKind": "rate_limit"}, None),
        (-32603, "no", {"errorKind": "authentication_failed"}, Reason.AUTH),
        (-32603, "pay", {"errorKind": "billing_error"}, Reason.QUOTA),
        (-32603, "full", {"errorName": "ContextOverflowError"}, Reason.CONTEXT_FULL),
        (-32603, "busy", {"errorName": "APIError", "statusCode": 503}, Reason.CRASHED),
        (-32603, 'Internal error: {"error": {"code": "invalid_api_key"}}', None, Reason.AUTH),
        (500, '{"error": {"code": 404, "message": "no model"}}', None, Reason.CODER_MISSING),
        (-32000, "Authentication required", None, Reason.AUTH),
        (400, "The input token count (3) exceeds the maximum", None, Reason.CONTEXT_FULL),
        (-32603, "line 4290: got 401, rate limit, log in", {"details": "429"}, Reason.UNKNOWN),
    ],
)
def test_an_error_has_the_reason_that_its_values_tell(
    code: int, message: str, data: object, reason: Reason | None
) -> None:
    found = meaning(code, message, data)
    if reason is None:
        assert isinstance(found, Limited)
    else:
        assert isinstance(found, Broke)
        assert found.reason == reason


@pytest.mark.parametrize(
    ("code", "data", "passes"),
    [
        (503, None, True),
        (-32603, {"statusCode": 500}, True),
        (500, {"status": 502}, True),
        (500, None, False),
    ],
)
def test_trouble_at_a_provider_passes_where_a_status_tells_of_it(
    code: int, data: object, passes: bool
) -> None:
    assert meaning(code, "no answer", data) == Broke("no answer", Reason.CRASHED, passes)


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("max_tokens", {"text": "its context is full", "reason": "context_full"}),
        ("max_turn_requests", {"text": "it reached the limit of requests per turn"}),
        ("refusal", {"text": "the agent refused"}),
        (None, {"text": "the turn ended with no reason"}),
    ],
)
def test_a_turn_can_end_badly(reason: str | None, line: dict[str, str]) -> None:
    [told] = Reading(PurePath("/code")).turn_over({"stopReason": reason})
    assert told == {"type": "broke", **line}


def test_a_cancelled_turn_says_nothing() -> None:
    assert list(Reading(PurePath("/code")).turn_over({"stopReason": "cancelled"})) == []


def test_a_rule_about_a_path_is_not_led_astray() -> None:
    call = {"kind": "edit", "locations": [{"path": "/code/src/../secret/key"}, {"path": "/etc/x"}]}
    [wants] = Reading(PurePath("/code")).wants("1", call)
    assert wants["detail"] == "secret/key\n/etc/x"
    assert wants["paths"] == ["/code/src/../secret/key", "/etc/x"]


@given(data=st.data())
def test_no_value_in_a_message_breaks_the_reading(data: st.DataObject) -> None:
    reading = Reading(PurePath("/code"))
    for update in UPDATES:
        path = data.draw(st.sampled_from(list(paths(update))))
        changed = swapped(update, path, data.draw(json_values))
        check([*reading.update(changed), *reading.wants("1", changed)])
    path = data.draw(st.sampled_from(list(paths(RESPONSE))))
    check([*reading.turn_over(swapped(RESPONSE, path, data.draw(json_values)))])
    meaning(data.draw(json_values), data.draw(st.text()), data.draw(json_values))


def check(lines: list[dict[str, Any]]) -> None:
    for line in lines:
        text = json.dumps(line)
        text.encode()
        assert len(list(jsonl.read(text))) == 1


@given(line=st.binary())
def test_no_bytes_break_the_wire(line: bytes) -> None:
    parsed(line)
    parsed(b'{"id": ' + line + b"}")
