"""Our own coders obey the rules for all coders."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from codefleet.coders.acp import coder as acp
from codefleet.coders.claude import coder as claude
from codefleet.coders.codex import coder as codex
from codefleet.coders.command import coder as command
from codefleet.coders.gemini import coder as gemini
from codefleet.coders.opencode import coder as opencode
from codefleet.coders.registry import coder as coder_named
from codefleet.coders.scripted import coder as scripted
from codefleet.testing.conformance import CoderConformance

TRANSCRIPTS = Path(__file__).with_name("transcripts")
PROTOCOL = """\
{"type": "started", "session": "s1", "model": "small"}
{"type": "said", "text": "Hello", "more": true}
{"type": "tool", "name": "shell", "detail": "ls", "done": false}
{"type": "file", "path": "a.txt"}
{"type": "usage", "input_tokens": 10, "output_tokens": 2, "cached_tokens": 1, "cost_usd": 0.5}
{"type": "context", "used": 12, "size": 100}
{"type": "limit", "text": "later", "resets_at": "2026-01-01T00:00:00Z"}
{"type": "asks", "text": "Which?", "options": ["this", "that"]}
{"type": "wants", "request": "1", "tool": "shell", "detail": "ls", "input": "{}"}
{"type": "broke", "text": "no key", "reason": "auth"}
{"type": "finished", "text": "Done", "no_changes": false}
"""
CLAUDE_ASKS = """\
{"type": "control_request", "request_id": "r1", "request": {"subtype": "can_use_tool", \
"tool_name": "Bash", "input": {"command": "make", "description": "build"}}}
{"type": "control_request", "request_id": "r2", "request": {"subtype": "can_use_tool", \
"tool_name": "AskUserQuestion", "input": {"questions": [{"question": "Which?", \
"options": [{"label": "this"}, {"label": "that"}]}]}}}
"""


def recorded(name: str) -> str:
    return (TRANSCRIPTS / f"{name}.jsonl").read_text(encoding="utf-8")


class TestScripted(CoderConformance):
    coder = scripted
    transcript = PROTOCOL + '{"type": "wants", "request": "w1", "tool": "shell", "detail": "ls"}\n'


class TestCommand(CoderConformance):
    coder = command
    transcript = PROTOCOL
    options: ClassVar[Mapping[str, object]] = {"argv": ["agent", "--session={session}"]}


class TestAcp(CoderConformance):
    coder = acp
    transcript = PROTOCOL
    options: ClassVar[Mapping[str, object]] = {"argv": ["agent", "--acp"]}


class TestClaude(CoderConformance):
    coder = claude
    transcript = recorded("claude-tool-acceptEdits") + CLAUDE_ASKS


class TestCodex(CoderConformance):
    coder = codex
    transcript = recorded("codex-tool")


class TestGemini(CoderConformance):
    coder = gemini
    transcript = recorded("gemini-tool")


class TestOpencode(CoderConformance):
    coder = opencode
    transcript = recorded("opencode-tool")


@pytest.mark.parametrize("name", ["agy", "aider", "copilot", "cursor", "goose"])
def test_a_coder_without_a_recording_keeps_to_the_rules_that_need_none(name: str) -> None:
    class Checks(CoderConformance):
        coder = coder_named(name)

    checks = Checks()
    checks.test_its_name_can_be_typed()
    checks.test_a_start_is_words_without_a_shell()
    checks.test_a_start_is_the_same_every_time()
    checks.test_the_prompt_comes_by_stdin_or_file_and_never_as_an_argument()
    checks.test_no_value_of_a_task_becomes_a_flag()
    checks.test_a_resumed_session_is_named_to_the_program()
    checks.test_its_stop_signal_exists()
    checks.test_no_line_is_too_strange_to_read()
    checks.test_words_alone_are_no_failure()
    checks.test_any_end_can_be_explained()
