"""Codex: how it is started, and what its messages mean."""

import json
from pathlib import Path
from typing import Any

import pytest

from codefleet.coders.codex import coder
from codefleet.domain.errors import BadConfig
from codefleet.domain.model import Usage
from codefleet.domain.signals import Broke, Changed, Finished, Limited, Signal, Thought, Tool, Used
from codefleet.testing.conformance import CoderConformance
from tests.coders.assignments import assignment

HOME = Path("/home/ada/.fleet")
RECORDED = Path(__file__).parent / "transcripts"
LIMIT = "You\N{RIGHT SINGLE QUOTATION MARK}ve hit your usage limit."


class TestConformance(CoderConformance):
    coder = coder
    transcript = (RECORDED / "codex-tool.jsonl").read_text()


def read(**event: Any) -> list[Signal]:
    return list(coder.read(json.dumps(event)))


def failed(message: str) -> Signal:
    [signal] = read(type="turn.failed", error={"message": message})
    return signal


def test_the_prompt_comes_by_standard_input() -> None:
    start = coder.start(assignment(HOME, "Do it"))
    shape = ["codex", "exec", "--json", "--skip-git-repo-check", "--sandbox=workspace-write"]
    assert start.argv == [*shape, "--", "-"]
    assert (start.stdin, start.stop_signal) == ("Do it", "SIGINT")


def test_model_session_and_options_are_passed_on() -> None:
    options: dict[str, object] = {
        "program": "/opt/codex",
        "args": ["-c", "x=1"],
        "account": "/accounts/b",
        "sandbox": "read-only",
    }
    start = coder.start(assignment(HOME, model="gpt", resume="-c", options=options))
    assert start.argv[0] == "/opt/codex"
    assert start.argv[4:] == [
        *("--sandbox=read-only", "--model=gpt", "-c", "x=1"),
        *("resume", "--", "-c", "-"),
    ]
    assert start.env == {"CODEX_HOME": "/accounts/b"}


def test_it_waits_for_the_tools_of_its_run_and_may_use_them() -> None:
    start = coder.start(assignment(HOME, tools=("/bin/fleet", "mcp", 'a "b"')))
    ours = [word for word in start.argv if "mcp_servers" in word]
    assert ours[0] == '--config=mcp_servers.fleet.command="/bin/fleet"'
    assert ours[1] == '--config=mcp_servers.fleet.args=["mcp", "a \\"b\\""]'
    assert "--config=mcp_servers.fleet.required=true" in ours
    assert '--config=mcp_servers.fleet.default_tools_approval_mode="approve"' in ours


def test_a_sandbox_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadConfig, match="sandbox is not one of workspace-write, read-only"):
        coder.start(assignment(HOME, options={"sandbox": "full-auto"}))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("unexpected status 403 Forbidden: no, url: x", "auth"),
        ("unexpected status 404 Not Found: no model, url: x", "coder_missing"),
        ("exceeded retry limit, last status: 500 Internal Server Error", "crashed"),
        ("Codex ran out of room in the model's context window. Start a new", "context_full"),
        ("We're currently experiencing high demand, which may cause", "crashed"),
        ('{"error": {"code": "insufficient_quota", "message": "m"}}', "quota"),
        ("Your workspace is out of credits. Add credits to continue.", "quota"),
        ("You hit your spend cap set in your workspace. Increase your spend cap", "quota"),
        ("To use Codex with your ChatGPT plan, upgrade to Plus: https://x", "quota"),
        ('{"error": {"code": "model_not_found", "message": "m"}}', "coder_missing"),
        ("The model said: unexpected status 401 Unauthorized", "unknown"),
        ("line 4290: exceeded", "unknown"),
    ],
)
def test_only_the_beginning_of_a_message_tells_the_reason(message: str, reason: str) -> None:
    signal = failed(message)
    assert isinstance(signal, Broke)
    assert signal.reason == reason


@pytest.mark.parametrize("when", ["", " Try again at 3:33 AM.", " try again in 3 days 4 hours."])
def test_a_usage_limit_is_one_of_the_account_whether_it_names_a_time_or_not(when: str) -> None:
    assert failed(LIMIT + when) == Limited(LIMIT + when, quota=True)


def test_reconnecting_is_no_end() -> None:
    assert read(type="error", message="Reconnecting... 2/5 (last status: 429)") == []


def test_tokens_count_the_whole_thread_with_the_cached_ones_apart() -> None:
    usage = {"input_tokens": 500, "cached_input_tokens": 400, "output_tokens": 30}
    assert read(type="turn.completed", usage=usage) == [
        Used(Usage(input_tokens=100, output_tokens=30, cached_tokens=400), in_all=True),
        Finished(),
    ]


def test_tools_begin_and_end_and_changed_files_are_named_once() -> None:
    call = {"type": "mcp_tool_call", "server": "docs", "tool": "find"}
    assert read(type="item.started", item=call) == [Tool("docs.find")]
    shell = {"type": "command_execution", "id": "i1", "command": "ls", "aggregated_output": "a\n"}
    assert read(type="item.started", item=shell) == [Tool("shell", "ls", call="i1")]
    assert read(type="item.completed", item=shell) == [Tool("shell", "ls", True, "i1", "a\n")]
    thought = {"type": "reasoning", "text": "Where is it?"}
    assert read(type="item.completed", item=thought) == [Thought("Where is it?")]
    assert read(type="item.completed", item=call) == [Tool("docs.find", done=True)]
    change = {"type": "file_change", "changes": [{"path": "/repo/a.py", "kind": "add"}, {}, 5]}
    assert read(type="item.started", item={**change, "status": "in_progress"}) == []
    assert read(type="item.completed", item={**change, "status": "completed"}) == [
        Changed("/repo/a.py", "added")
    ]
