"""opencode: how it is started, and what its steps and errors mean."""

import json
from pathlib import Path
from typing import Any

import pytest

from codefleet.coders.opencode import coder
from codefleet.domain.model import Usage
from codefleet.domain.signals import (
    Broke,
    Changed,
    Filled,
    Finished,
    Limited,
    Signal,
    Started,
    Tool,
    Used,
)
from codefleet.testing.conformance import CoderConformance
from tests.coders.assignments import assignment

HOME = Path("/home/ada/.fleet")
RECORDED = Path(__file__).parent / "transcripts"


class TestConformance(CoderConformance):
    coder = coder
    transcript = (RECORDED / "opencode-tool.jsonl").read_text()


def read(**event: Any) -> list[Signal]:
    return list(coder.read(json.dumps(event)))


def failed(name: str = "APIError", **data: Any) -> list[Signal]:
    return read(type="error", error={"name": name, "data": {"message": "w", **data}})


def test_it_starts_without_anybody_to_ask() -> None:
    options: dict[str, object] = {"account": "/accounts/b"}
    start = coder.start(assignment(HOME, "Do it", model="p/m", resume="ses_1", options=options))
    shape = ["opencode", "run", "--format=json", "--print-logs", "--log-level=ERROR", "--auto"]
    assert start.argv == [*shape, "--model=p/m", "--session=ses_1"]
    assert start.env == {"OPENCODE_DISABLE_AUTOUPDATE": "1", "XDG_DATA_HOME": "/accounts/b"}
    assert start.stdin == "Do it"


def test_the_tools_of_its_run_are_laid_over_its_settings() -> None:
    start = coder.start(assignment(HOME, tools=("fleet", "mcp")))
    server = json.loads(start.env["OPENCODE_CONFIG_CONTENT"])["mcp"]["fleet"]
    assert server["command"] == ["fleet", "mcp"]
    assert server["enabled"] is True


def test_every_step_tells_its_own_tokens_and_how_full_the_context_is() -> None:
    tokens = {"input": 10, "output": 2, "reasoning": 3, "cache": {"read": 100, "write": 5}}
    told = read(type="step_finish", part={"reason": "tool-calls", "tokens": tokens, "cost": 0.5})
    usage = Usage(input_tokens=15, output_tokens=5, cached_tokens=100, cost_usd=0.5)
    assert told == [Used(usage), Filled(120)]


def test_only_a_step_that_stops_is_the_last() -> None:
    assert read(type="step_finish", part={"reason": "stop"}) == [Finished()]
    assert read(type="step_finish", part={"reason": "tool-calls"}) == []
    [broke] = read(type="step_finish", part={"reason": "length"})
    assert isinstance(broke, Broke)


def test_a_refused_tool_is_shown_with_the_reason_and_touched_nothing() -> None:
    state = {"status": "error", "error": "no", "input": {"filePath": "a.py"}}
    told = read(type="tool_use", part={"tool": "write", "state": state})
    assert told == [Tool("write", "a.py: no"), Tool("write", done=True)]
    state["status"] = "completed"
    assert Changed("a.py") in read(type="tool_use", part={"tool": "write", "state": state})


@pytest.mark.parametrize(
    ("data", "signal"),
    [
        ({"statusCode": 403}, Broke("w", "auth")),
        ({"statusCode": 402}, Broke("w", "quota")),
        ({"statusCode": 404}, Broke("w", "coder_missing")),
        ({"statusCode": 429}, Limited("w")),
        ({"statusCode": 503}, Broke("w", "crashed", passing=True)),
        ({"statusCode": 400}, Broke("w")),
        ({"isRetryable": True}, Broke("w", "crashed")),
        ({"isRetryable": False}, Broke("w")),
        (
            {"statusCode": 400, "responseBody": '{"error": {"code": "context_length_exceeded"}}'},
            Broke("w", "context_full"),
        ),
        (
            {"statusCode": 429, "responseBody": '{"error": {"code": "insufficient_quota"}}'},
            Broke("w", "quota"),
        ),
    ],
)
def test_an_api_error_has_its_reason(data: dict[str, Any], signal: Signal) -> None:
    assert failed(**data) == [signal]


@pytest.mark.parametrize(
    ("name", "signals"),
    [
        ("ProviderAuthError", [Broke("w", "auth")]),
        ("ProviderModelNotFoundError", [Broke("w", "coder_missing")]),
        ("ContextOverflowError", [Broke("w", "context_full")]),
        ("UnknownError", [Broke("w")]),
        ("MessageAbortedError", []),
    ],
)
def test_other_errors_have_their_reasons(name: str, signals: list[Signal]) -> None:
    assert failed(name) == signals


LOG = (
    "timestamp=2026-11-17T05:10:38.145Z level=ERROR run=6d0aec5e message=failed ref=err_1b5a5492 "
    'error="{error}" cause="{error}\\n    at <anonymous> (/app/chunk.js:439:94601)"\n'
)


@pytest.mark.parametrize(
    ("error", "signal"),
    [
        (
            "ProviderModelNotFoundError: Model not found: scripted/nope.",
            Broke("Model not found: scripted/nope.", "coder_missing"),
        ),
        ("TypeError: undefined is no object", Broke("undefined is no object")),
    ],
)
def test_a_failure_that_is_told_only_in_the_log_is_read_there(error: str, signal: Broke) -> None:
    data = {"message": "Unexpected server error. Check server logs for details.", "ref": "err_1"}
    assert failed("UnknownError", **data) == []
    assert list(coder.explain(1, LOG.format(error=error))) == [signal]


def test_an_error_before_the_first_step_names_the_session_too() -> None:
    assert read(type="error", sessionID="ses_1")[0] == Started("ses_1")
