"""No false alarms from output: text is only text; only what a program states is a fact."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from codefleet.coders import registry
from codefleet.domain.signals import Asks, Broke, Limited
from codefleet.domain.words import Reason
from codefleet.runner.process.custody import Exit
from codefleet.runner.run import replay
from codefleet.runner.run.verdict import Delivered, Failed, Released
from tests.false_alarms import WORDS, Words

Event = dict[str, Any]
PRINTED_AT = datetime(2026, 11, 15, 12, tzinfo=UTC)


def claude(words: str) -> list[Event]:
    call = {"type": "tool_use", "name": "Bash", "input": {"command": words}}
    return [
        {"type": "system", "subtype": "init", "session_id": "s", "model": "m"},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": words}, call]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": words}]}},
        {"type": "result", "subtype": "success", "is_error": False, "result": words},
    ]


def codex(words: str) -> list[Event]:
    command = {"type": "command_execution", "command": words, "aggregated_output": words}
    return [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": words}},
        {"type": "item.completed", "item": {**command, "exit_code": 1, "status": "failed"}},
        {"type": "item.completed", "item": {"type": "error", "message": words}},
        {"type": "turn.completed", "usage": {}},
    ]


def gemini(words: str) -> list[Event]:
    failed = {"status": "error", "output": words, "error": {"type": "x", "message": words}}
    return [
        {"type": "init", "session_id": "s", "model": "m"},
        {"type": "message", "role": "assistant", "content": words, "delta": True},
        {"type": "tool_use", "tool_name": "run_shell_command", "parameters": {"command": words}},
        {"type": "tool_result", "tool_id": "run_shell_command__1", **failed},
        {"type": "result", "status": "success", "stats": {}},
    ]


def opencode(words: str) -> list[Event]:
    failed = {"status": "error", "input": {"command": words}, "output": words, "error": words}
    return [
        {"type": "step_start", "sessionID": "s"},
        {"type": "text", "part": {"text": words}},
        {"type": "tool_use", "part": {"tool": "bash", "state": failed}},
        {"type": "step_finish", "part": {"reason": "stop", "tokens": {}}},
    ]


def scripted(words: str) -> list[Event]:
    return [
        {"type": "said", "text": words},
        {"type": "tool", "name": "shell", "detail": words},
        {"type": "finished", "text": words},
    ]


RUNS: dict[str, Callable[[str], list[Event]]] = {
    each.__name__: each for each in (claude, codex, gemini, opencode, scripted)
}
TROUBLE = (Reason.AUTH, Reason.QUOTA, Reason.RATE_LIMIT, Reason.CONTEXT_FULL, Reason.CODER_MISSING)

each_words = pytest.mark.parametrize("row", WORDS, ids=lambda row: row.id)


def read(name: str, events: list[Event], code: int, stderr: str = "") -> replay.Recording:
    output = "".join(f"{json.dumps(event)}\n" for event in events)
    return replay.read(
        registry.coder(name), output.encode(), Exit(code=code), stderr, printed_at=PRINTED_AT
    )


@each_words
@pytest.mark.parametrize("name", RUNS)
def test_words_in_a_good_run_change_nothing(name: str, row: Words) -> None:
    found = read(name, RUNS[name](row.words), 0, stderr=row.words)
    assert isinstance(found.verdict, Delivered), row.taken_for
    assert not [one for one in found.signals if isinstance(one, Limited | Broke | Asks)]


@each_words
@pytest.mark.parametrize("name", registry.names())
def test_words_on_stderr_do_not_say_why_a_program_ended(name: str, row: Words) -> None:
    found = replay.read(
        registry.coder(name), b"", Exit(code=1), f"{row.words}\n", printed_at=PRINTED_AT
    )
    assert isinstance(found.verdict, Failed), row.taken_for
    assert found.verdict.reason not in TROUBLE, row.taken_for


@pytest.mark.parametrize("row", [row for row in WORDS if row.id != "a-limit"], ids=lambda r: r.id)
def test_a_program_that_prints_plain_words_is_not_judged_by_them(row: Words) -> None:
    """Except in the fleet's own protocol, where a line of plain text can state a limit."""
    found = replay.read(
        registry.coder("command"), row.words.encode(), Exit(code=0), printed_at=PRINTED_AT
    )
    assert isinstance(found.verdict, Delivered), row.taken_for


class Fact(NamedTuple):
    """What a program stated, and what it means: true alarms and false ones.

    Without a `reason`, the run was good.
    """

    id: str
    coder: str
    events: list[Event]
    code: int
    reason: Reason | None = None
    until: datetime | None = None


GOOD = {"type": "result", "subtype": "success", "is_error": False, "result": "Done."}
AT = datetime(2026, 11, 15, 19, 28, 45, tzinfo=UTC)


def window(status: str, **more: object) -> Event:
    return {"type": "rate_limit_event", "rate_limit_info": {"status": status, **more}}


def refused(status: int, kind: str) -> list[Event]:
    """How Claude Code reports that its provider responded with this status."""
    words = [{"type": "text", "text": "API Error"}]
    return [
        {"type": "assistant", "error": kind, "message": {"content": words}},
        {**GOOD, "is_error": True, "terminal_reason": "api_error", "api_error_status": status},
    ]


FACTS = (
    Fact("a window that fills up is no limit yet", "claude", [window("allowed_warning"), GOOD], 0),
    Fact(
        "a limit that one pays extra to pass is none",
        "claude",
        [window("rejected", isUsingOverage=True), GOOD],
        0,
    ),
    Fact(
        "a refusal that is tried again by the program is none",
        "claude",
        [{"type": "system", "subtype": "api_retry", "error_status": 429}, GOOD],
        0,
    ),
    Fact(
        "a lost login of a sub-agent is not the run's",
        "claude",
        [{**refused(401, "authentication_failed")[0], "parent_tool_use_id": "t"}, GOOD],
        0,
    ),
    Fact("a 429 in the output is seen", "claude", refused(429, "rate_limit"), 1, Reason.RATE_LIMIT),
    Fact(
        "a used-up window is seen with the time it ends",
        "claude",
        [window("rejected", resetsAt=AT.timestamp()), *refused(429, "rate_limit")],
        1,
        Reason.QUOTA,
        AT,
    ),
    Fact(
        "a success that is an error is none",
        "claude",
        [{**GOOD, "is_error": True, "result": "Not logged in · Please run /login"}],
        1,
        Reason.UNKNOWN,
    ),
    Fact("silence is no success, whatever the exit code", "claude", [], 0, Reason.CRASHED),
    Fact(
        "a lost connection that comes back is no failure",
        "codex",
        [
            {"type": "error", "message": "Reconnecting... 1/5 (unexpected status 429)"},
            {"type": "turn.completed", "usage": {}},
        ],
        0,
    ),
    Fact(
        "a 429 in the output is seen",
        "codex",
        [
            {
                "type": "turn.failed",
                "error": {"message": "exceeded retry limit, last status: 429 Too Many Requests"},
            }
        ],
        1,
        Reason.RATE_LIMIT,
    ),
    Fact("a killed program that ends with 0 is cut off", "gemini", [], 0, Reason.CRASHED),
    Fact("an exit code that is a status is seen", "gemini", [], 429 % 256, Reason.RATE_LIMIT),
    Fact(
        "a 429 in the output is seen",
        "opencode",
        [{"type": "error", "error": {"name": "APIError", "data": {"statusCode": 429}}}],
        1,
        Reason.RATE_LIMIT,
    ),
)


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact.coder}: {fact.id}")
def test_what_a_program_states_is_what_counts(fact: Fact) -> None:
    ended = read(fact.coder, fact.events, fact.code).verdict
    if fact.reason is None:
        assert isinstance(ended, Delivered)
        return
    assert isinstance(ended, Failed | Released)
    assert ended.reason is fact.reason
    assert (ended.until if isinstance(ended, Released) else None) == fact.until
