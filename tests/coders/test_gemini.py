"""Gemini CLI: how it is started, and what its errors and exit codes mean."""

import json
from pathlib import Path
from typing import Any

import pytest

from codefleet.coders.gemini import coder
from codefleet.domain.errors import BadConfig
from codefleet.domain.model import Usage
from codefleet.domain.signals import Broke, Changed, Limited, Said, Signal, Tool, Used
from codefleet.testing.conformance import CoderConformance
from tests.coders.assignments import assignment

HOME = Path("/home/ada/.fleet")
RECORDED = Path(__file__).parent / "transcripts"


class TestConformance(CoderConformance):
    coder = coder
    transcript = (RECORDED / "gemini-tool.jsonl").read_text()


def read(**event: Any) -> list[Signal]:
    return list(coder.read(json.dumps(event)))


def failed(message: str, kind: str = "unknown") -> Signal:
    [signal] = read(type="result", status="error", error={"type": kind, "message": message})
    return signal


def test_it_starts_as_one_process_that_may_do_all() -> None:
    start = coder.start(assignment(HOME, "Do it", model="m", resume="abc"))
    shape = ["gemini", "--output-format=stream-json", "--approval-mode=yolo"]
    assert start.argv == [*shape, "--model=m", "--resume=abc"]
    assert start.env["GEMINI_CLI_NO_RELAUNCH"] == "true"
    assert start.stdin == "Do it"


def test_an_account_and_a_stricter_mode_can_be_chosen() -> None:
    options: dict[str, object] = {"account": "/accounts/b", "approval_mode": "auto_edit"}
    start = coder.start(assignment(HOME, options=options))
    assert start.env["GEMINI_CLI_HOME"] == "/accounts/b"
    assert "--approval-mode=auto_edit" in start.argv
    with pytest.raises(BadConfig, match="approval_mode is not one of yolo"):
        coder.start(assignment(HOME, options={"approval_mode": "bold"}))


def test_pieces_of_an_answer_go_on_where_the_last_one_ended() -> None:
    line = {"type": "message", "role": "assistant", "content": "Hello "}
    assert read(**line, delta=True) == [Said("Hello ", more=True)]
    assert read(**line) == [Said("Hello ")]
    assert read(**{**line, "role": "user"}) == []


def test_a_tool_that_writes_names_its_file() -> None:
    written = {"tool_name": "write_file", "parameters": {"file_path": "a.py"}}
    read_only = {"tool_name": "read_file", "parameters": {"file_path": "a.py"}}
    assert read(type="tool_use", **written) == [Tool("write_file", "a.py"), Changed("a.py")]
    assert read(type="tool_use", **read_only) == [Tool("read_file", "a.py")]
    call = "write_file__fc_1"
    assert read(type="tool_result", tool_id=call, output="Written.") == [
        Tool("write_file", done=True, call=call, result="Written.")
    ]


def test_cached_tokens_are_counted_apart() -> None:
    stats = {"input_tokens": 100, "cached": 60, "output_tokens": 5}
    [used, _] = read(type="result", status="success", stats=stats)
    assert used == Used(Usage(input_tokens=40, output_tokens=5, cached_tokens=60))


API_ERRORS = [
    ('[API Error: {"error":{"code":403,"message":"no"}}]', Broke("no", "auth")),
    ('[API Error: {"error":{"code":404,"message":"no"}}]', Broke("no", "coder_missing")),
    ('[API Error: {"error":{"code":503,"message":"no"}}]', Broke("no", "crashed", passing=True)),
    ('[API Error: {"error":{"code":429,"message":"no"}}]', Limited("no")),
    (
        '[API Error: {"error":{"code":400,"message":"API key not valid. Pass one."}}]',
        Broke("API key not valid. Pass one.", "auth"),
    ),
    (
        "[API Error: The input token count (9) exceeds the maximum number of tokens]",
        Broke("The input token count (9) exceeds the maximum number of tokens", "context_full"),
    ),
    (
        "[API Error: models/gemini-nope is not found for API version v1beta, or is not]",
        Broke("models/gemini-nope is not found for API version v1beta, or is not", "coder_missing"),
    ),
    (
        "[API Error: Requested entity was not found.]",
        Broke("Requested entity was not found.", "coder_missing"),
    ),
    ("[API Error: odd]\nPlease wait and try again later. And so on", Limited("odd")),
    ("[API Error: the test wants 429]", Broke("the test wants 429")),
    ("[API Error: it says API key not valid]", Broke("it says API key not valid")),
    ("something else", Broke("something else")),
]


@pytest.mark.parametrize(("message", "signal"), API_ERRORS)
def test_an_api_error_has_its_reason(message: str, signal: Signal) -> None:
    assert failed(message) == signal


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("FatalAuthenticationError", "auth"),
        ("FatalConfigError", "coder_missing"),
        ("FatalTurnLimitedError", "timeout"),
    ],
)
def test_the_programs_own_errors_have_their_reasons(kind: str, reason: str) -> None:
    assert failed("w", kind) == Broke("w", reason)


def test_a_cancelled_turn_has_no_end_of_its_own() -> None:
    assert read(type="result", status="error", error={"type": "FatalCancellationError"}) == []


@pytest.mark.parametrize(
    ("exit_code", "reason"),
    [
        *((41, "auth"), (42, "unknown"), (52, "coder_missing"), (53, "timeout")),
        *((401 % 256, "auth"), (404 % 256, "coder_missing"), (503 % 256, "crashed")),
    ],
)
def test_an_exit_code_tells_what_the_output_did_not(exit_code: int, reason: str) -> None:
    [signal] = coder.explain(exit_code, "")
    assert isinstance(signal, Broke)
    assert signal.reason == reason


def test_the_end_of_what_it_complained_about_is_told() -> None:
    [signal] = coder.explain(41, "noise\nmore noise\n\nSet a key,\n  then try\nagain.\n")
    assert signal == Broke("Set a key,\nthen try\nagain.", "auth")


def test_other_exit_codes_say_nothing_and_429_is_a_limit() -> None:
    assert [list(coder.explain(code, "noise")) for code in (0, 1, 130)] == [[], [], []]
    [signal] = coder.explain(429 % 256, "")
    assert isinstance(signal, Limited)
