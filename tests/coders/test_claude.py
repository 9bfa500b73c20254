"""Claude Code: how it is started, and what single lines of its output mean."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from codefleet.coders.claude import coder
from codefleet.domain.errors import BadConfig
from codefleet.domain.model import Usage
from codefleet.domain.signals import (
    Asks,
    Broke,
    Changed,
    Filled,
    Limited,
    Said,
    Signal,
    Started,
    Thought,
    Tool,
    Used,
    Wants,
)
from codefleet.testing.conformance import CoderConformance
from tests.coders.assignments import assignment

HOME = Path("/home/ada/.fleet")
RECORDED = Path(__file__).parent / "transcripts"


class TestConformance(CoderConformance):
    coder = coder
    transcript = (RECORDED / "claude-tool-acceptEdits.jsonl").read_text()


def read(**event: Any) -> list[Signal]:
    return list(coder.read(json.dumps(event)))


def assistant(*content: dict[str, Any], **more: Any) -> list[Signal]:
    message = {"content": list(content), "usage": more.pop("usage", {})}
    return read(**{"type": "assistant", "message": message, "parent_tool_use_id": None, **more})


def result(**fields: Any) -> Signal:
    """The end that a `result` reports."""
    return read(**{"type": "result", "subtype": "success", "is_error": True, **fields})[-1]


def test_it_may_edit_and_use_the_shell_without_asking() -> None:
    start = coder.start(assignment(HOME, "Do it"))
    assert start.argv == [
        "claude",
        "-p",
        "--input-format=stream-json",
        "--output-format=stream-json",
        "--verbose",
        "--permission-prompt-tool=stdio",
        "--permission-mode=acceptEdits",
        "--allowedTools=Bash,WebFetch,WebSearch",
    ]
    assert (start.stop_signal, start.listens) == ("SIGINT", True)
    assert json.loads(start.stdin or "") == {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": "Do it"}]},
    }
    assert start.env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] == "1"


def test_it_asks_before_it_uses_what_the_policy_has_rules_about() -> None:
    def flags(*judged: str) -> set[str]:
        return set(coder.start(assignment(HOME)._replace(judged=judged)).argv)

    assert {"--allowedTools=WebFetch,WebSearch", "--permission-mode=acceptEdits"} < flags("Bash")
    assert {"--allowedTools=Bash", "--permission-mode=acceptEdits"} < flags("Web*")
    assert {"--permission-mode=default"} < flags("Write")
    assert not any(flag.startswith("--allowedTools") for flag in flags("*"))


def wants(tool: str, **given: Any) -> list[Signal]:
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": given}
    return read(type="control_request", request_id="r1", request=request)


def test_it_may_use_the_tools_of_its_run_without_asking() -> None:
    argv = coder.start(assignment(HOME, tools=("fleet", "mcp"))).argv
    [servers] = [word for word in argv if word.startswith("--mcp-config=")]
    told = json.loads(servers.partition("=")[2])["mcpServers"]
    assert told == {"fleet": {"type": "stdio", "command": "fleet", "args": ["mcp"]}}
    [allowed] = [word for word in argv if word.startswith("--allowedTools=")]
    assert allowed.endswith(",mcp__fleet")


def test_it_wants_leave_for_a_command_or_a_plain_path() -> None:
    assert wants("Bash", command="make", description="Build it") == [
        Wants("r1", "Bash", "make", '{"command": "make", "description": "Build it"}')
    ]
    [write] = wants("Write", file_path="/w/src/../../etc/x", content="x")
    assert isinstance(write, Wants)
    assert write.paths == ("/w/src/../../etc/x",)
    assert read(type="control_request", request_id="r1", request={"subtype": "other"}) == []


def test_leave_is_given_with_the_same_input_or_refused_with_the_reason() -> None:
    [asked] = wants("Bash", command="make")
    assert isinstance(asked, Wants)

    def answer(*, allowed: bool, why: str = "") -> Any:
        said = json.loads(coder.permit(asked, allowed=allowed, why=why))
        assert said["type"] == "control_response"
        assert said["response"]["request_id"] == "r1"
        return said["response"]["response"]

    assert answer(allowed=True) == {"behavior": "allow", "updatedInput": {"command": "make"}}
    assert answer(allowed=False, why="no") == {"behavior": "deny", "message": "no"}
    assert answer(allowed=False)["message"]


def test_its_question_to_the_user_has_the_options_it_offers() -> None:
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue"}]
    one = {"question": "Which colour?", "options": options}
    assert wants("AskUserQuestion", questions=[one]) == [Asks("Which colour?", ("Red", "Blue"))]
    two = [one, {"question": "Which size?"}]
    assert wants("AskUserQuestion", questions=two) == [Asks("Which colour?\nWhich size?")]
    assert wants("AskUserQuestion") == [Asks("It has a question.")]


def test_a_message_has_an_id_that_the_program_knows_again() -> None:
    said = json.loads(coder.say("m1", "Hello"))
    assert said["message"] == {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
    assert said["uuid"] == json.loads(coder.say("m1", "Hello"))["uuid"]
    assert said["uuid"] != json.loads(coder.say("m2", "Hello"))["uuid"]


def test_model_session_and_options_are_passed_on() -> None:
    options: dict[str, object] = {
        "program": "/opt/claude",
        "args": ["--effort=high"],
        "env": {"DISABLE_AUTOUPDATER": "0", "A": "b"},
        "account": "~/work",
        "permission_mode": "plan",
        "allowed_tools": ["Bash(git *)", "Edit"],
    }
    start = coder.start(assignment(HOME, model="opus", resume="abc", options=options))
    assert start.argv[0] == "/opt/claude"
    assert start.argv[-3:] == ["--model=opus", "--resume=abc", "--effort=high"]
    assert {"--permission-mode=plan", "--allowedTools=Bash(git *),Edit"} < set(start.argv)
    assert start.env["CLAUDE_CONFIG_DIR"] == str(Path("~/work").expanduser())
    assert (start.env["A"], start.env["DISABLE_AUTOUPDATER"]) == ("b", "0")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"modle": "x"}, "the coder claude has no option modle"),
        ({"program": ""}, "coders.claude.program is not a string"),
        ({"program": ["claude"]}, "coders.claude.program is not a string"),
        ({"args": "--effort=high"}, "coders.claude.args is not a list of strings"),
        ({"allowed_tools": ["a\0"]}, "coders.claude.allowed_tools is not a list of strings"),
        ({"env": {"A": 1}}, "coders.claude.env is not a table of strings"),
        ({"account": 5}, "coders.claude.account is not a string"),
    ],
)
def test_options_that_cannot_be_used_are_told_with_a_hint(
    options: dict[str, object], problem: str
) -> None:
    with pytest.raises(BadConfig) as told:
        coder.start(assignment(HOME, options=options))
    assert told.value.problem == problem
    assert told.value.hint


def test_a_tool_call_begins_and_ends_and_names_the_file_it_changed() -> None:
    call = {"type": "tool_use", "name": "Edit", "input": {"file_path": "a.py", "new_string": "x"}}
    done = {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}
    assert assistant({**call, "id": "t1"}) == [Tool("Edit", "a.py", call="t1")]
    assert read(type="user", message=done, tool_use_result={"filePath": "a.py"}) == [
        Tool("", done=True, call="t1", result="ok"),
        Changed("a.py"),
    ]
    made = {"type": "create", "filePath": "b.py"}
    assert read(type="user", message=done, tool_use_result=made)[1:] == [Changed("b.py", "added")]


def test_a_result_in_blocks_is_their_texts() -> None:
    blocks = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]
    done = {"content": [{"type": "tool_result", "content": blocks}]}
    assert read(type="user", message=done) == [Tool("", done=True, result="one\ntwo")]


def test_what_it_thinks_is_told_apart_from_what_it_says() -> None:
    thought = {"type": "thinking", "thinking": "Where is it?", "signature": "c2ln"}
    assert assistant(thought) == [Thought("Where is it?")]
    assert assistant({**thought, "thinking": ""}) == []
    assert assistant(thought, parent_tool_use_id="toolu_1") == []


def test_a_denied_tool_is_shown_with_the_reason() -> None:
    line = {"type": "system", "subtype": "permission_denied", "tool_name": "Bash"}
    assert read(**line, message="needs approval") == [Tool("Bash", "denied: needs approval")]


def test_a_sub_agents_words_and_troubles_are_not_the_runs() -> None:
    words = {"type": "text", "text": "sub done"}
    assert assistant(words, parent_tool_use_id="toolu_1") == []
    assert assistant(words, parent_tool_use_id="toolu_1", error="rate_limit") == []
    assert assistant(words) == [Said("sub done")]


def test_how_full_the_context_is_counts_what_came_from_the_cache() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 25}
    assert assistant(usage=usage) == [Filled(100)]


def test_tokens_are_summed_over_models_with_the_cached_ones_apart() -> None:
    used = {"inputTokens": 10, "outputTokens": 3, "cacheReadInputTokens": 100}
    small = {"inputTokens": 1, "cacheCreationInputTokens": 20}
    told = read(type="result", modelUsage={"big": used, "small": small}, total_cost_usd=0.5)
    usage = Usage(input_tokens=31, output_tokens=3, cached_tokens=100, cost_usd=0.5)
    assert told[0] == Used(usage, in_all=True)


def test_a_result_without_numbers_does_not_take_back_earlier_ones() -> None:
    told = read(type="result", subtype="success", is_error=True, modelUsage={}, total_cost_usd=0)
    assert not any(isinstance(signal, Used) for signal in told)


@pytest.mark.parametrize(
    ("kind", "signal"),
    [
        ("rate_limit", Limited("w")),
        ("authentication_failed", Broke("w", "auth")),
        ("billing_error", Broke("w", "quota")),
        ("model_not_found", Broke("w", "coder_missing")),
        ("server_error", Broke("w", "crashed")),
        ("overloaded", Limited("w")),
        ("invalid_request", Broke("w", "unknown")),
        ("max_output_tokens", Broke("w", "unknown")),
        ("something new", Broke("w", "unknown")),
    ],
)
def test_the_providers_refusals_have_their_reasons(kind: str, signal: Signal) -> None:
    assert assistant({"type": "text", "text": "w"}, error=kind) == [signal]


@pytest.mark.parametrize(
    ("fields", "signal"),
    [
        ({"result": "w", "terminal_reason": "prompt_too_long"}, Broke("w", "context_full")),
        ({"subtype": "error_max_turns", "errors": ["w"]}, Broke("w", "timeout")),
        ({"subtype": "error_max_budget_usd", "errors": ["w"]}, Broke("w", "budget")),
        ({"subtype": "error_during_execution", "errors": ["w"]}, Broke("w")),
        ({"result": "w", "api_error_status": 401}, Broke("w", "auth")),
        ({"result": "w", "api_error_status": 404}, Broke("w", "coder_missing")),
        ({"result": "w", "api_error_status": 529}, Limited("w")),
        ({"result": "w", "api_error_status": 429}, Limited("w")),
        ({"result": "w", "api_error_status": 400}, Broke("w")),
    ],
)
def test_a_result_that_is_an_error_is_never_a_success(
    fields: dict[str, Any], signal: Signal
) -> None:
    assert result(**fields) == signal


def test_an_interrupted_turn_has_no_end_of_its_own() -> None:
    told = read(type="result", subtype="error_during_execution", terminal_reason="aborted_tools")
    assert told == []


def limit(**info: Any) -> list[Signal]:
    return read(type="rate_limit_event", rate_limit_info={"resetsAt": 1794770925, **info})


def test_only_a_rejected_request_is_a_limit() -> None:
    at = datetime(2026, 11, 15, 19, 28, 45, tzinfo=UTC)
    assert limit(status="rejected", rateLimitType="five_hour") == [
        Limited("the five_hour limit is reached", at, quota=True)
    ]
    assert limit(status="rejected", isUsingOverage=True) == []
    assert limit(status="allowed_warning") == []
    assert limit(status="allowed") == []


def retry(**fields: Any) -> list[Signal]:
    return read(type="system", subtype="api_retry", max_retries=10, **fields)


def test_a_retry_is_no_end() -> None:
    assert retry(attempt=9, error_status=429, error="rate_limit") == []
    assert retry(attempt=1, error_status=401) == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_twice_is_wrong_and_the_program_is_to_be_stopped(status: int) -> None:
    said = f"the provider refused the key ({status})"
    assert retry(attempt=2, error_status=status) == [Broke(said, "auth", retrying=True)]


def test_a_flag_that_its_version_does_not_know_needs_a_human() -> None:
    [broke] = coder.explain(1, "error: unknown option '--allowedTools'\n")
    assert broke == Broke("error: unknown option '--allowedTools'", "coder_missing")
    assert list(coder.explain(143, "")) == []


def test_each_turn_of_a_run_names_the_session() -> None:
    line = {"type": "system", "subtype": "init", "session_id": "s", "model": "opus"}
    assert read(**line) == [Started("s", "opus")]
    assert read(type="result", session_id="s", subtype="success", is_error=False)[0] == Started("s")


def test_a_rule_about_a_tool_takes_away_its_freedom_however_the_name_is_written() -> None:
    free = coder.start(assignment(HOME)._replace(judged=["bash", "write"])).argv
    assert "--permission-mode=default" in free
    assert "--allowedTools=WebFetch,WebSearch" in free


def test_a_tool_that_runs_a_command_is_judged_by_that_and_not_by_a_path_beside_it() -> None:
    [asked] = wants("mcp__shell__run", command="git push", path="src/a.py")
    assert isinstance(asked, Wants)
    assert (asked.detail, asked.paths) == ("git push", ())
