"""The coders whose programs were never run here: documentation says what they print."""

import json
from pathlib import Path

import pytest

from codefleet.coder import Coder
from codefleet.coders import registry
from codefleet.coders.agy import coder as agy
from codefleet.coders.aider import coder as aider
from codefleet.coders.copilot import coder as copilot
from codefleet.coders.cursor import coder as cursor
from codefleet.coders.goose import coder as goose
from codefleet.domain.errors import BadConfig
from codefleet.domain.model import Usage
from codefleet.domain.signals import Broke, Finished, Said, Signal, Started, Tool, Used
from codefleet.testing.conformance import CoderConformance
from tests.coders.assignments import assignment

HOME = Path("/home/ada/.fleet")
PROMPT = f"{HOME}/runs/t1.1/prompt.md"
POINTER = f"Read the file {PROMPT} and do what it says."
UNVERIFIED = (agy, aider, copilot, cursor, goose)

AGY = """
{"event": "init", "conversation_id": "c1"}
{"event": "step_update", "text": "I look."}
{"event": "result", "conversation_id": "c1", "status": "SUCCESS", "response": "Done.",
 "usage": {"input_tokens": 10, "output_tokens": 2, "cache_read_tokens": 7}}
"""
AIDER = """
Aider v0.86.2
Applied edit to a.py
Tokens: 2.4k sent, 1,120 received. Cost: $0.02 message, $0.05 session.
"""
COPILOT = """
{"type": "session.start", "data": {"sessionId": "s1"}}
{"type": "tool.execution_start", "data": {"toolName": "bash", "arguments": {"command": "ls"}}}
{"type": "tool.execution_complete", "data": {"success": true}}
{"type": "assistant.message", "data": {"content": "Done."}}
{"type": "result", "sessionId": "s1", "exitCode": 0}
"""
CURSOR = """
{"type": "system", "subtype": "init", "session_id": "s1", "model": "m"}
{"type": "assistant", "message": {"content": [{"type": "text", "text": "I look."}]}}
{"type": "tool_call", "subtype": "started", "tool_call": {"readToolCall": {"args": {"path": "a"}}}}
{"type": "tool_call", "subtype": "completed",
 "tool_call": {"readToolCall": {"args": {"path": "a"}}}}
{"type": "result", "subtype": "success", "is_error": false, "result": "Done."}
"""
GOOSE = (Path(__file__).parent / "transcripts" / "goose-text.jsonl").read_text()


def lines(output: str) -> str:
    """The output with one object on each line, as the program prints it."""
    return output.strip().replace(",\n ", ", ")


class TestAgy(CoderConformance):
    coder = agy
    transcript = lines(AGY)


class TestAider(CoderConformance):
    coder = aider
    transcript = lines(AIDER)


class TestCopilot(CoderConformance):
    coder = copilot
    transcript = lines(COPILOT)


class TestCursor(CoderConformance):
    coder = cursor
    transcript = lines(CURSOR)


class TestGoose(CoderConformance):
    coder = goose
    transcript = GOOSE


def read(coder: Coder, output: str) -> list[Signal]:
    return [signal for line in lines(output).splitlines() for signal in coder.read(line)]


def test_they_and_no_others_say_that_they_are_not_verified() -> None:
    honest = {name for name in registry.names() if not registry.coder(name).abilities.verified}
    assert honest == {coder.name for coder in UNVERIFIED}


def test_agy_is_done_when_its_result_says_so() -> None:
    usage = Usage(input_tokens=10, output_tokens=2, cached_tokens=7)
    assert read(agy, AGY) == [
        *(Started("c1"), Said("I look."), Started("c1")),
        *(Used(usage), Finished("Done.")),
    ]
    assert read(agy, '{"event": "result", "status": "ERROR", "error": "no"}') == [Broke("no")]


def test_aider_tells_tokens_and_money_in_a_line_of_its_own() -> None:
    assert read(aider, AIDER) == [
        *(Said("Aider v0.86.2"), Said("Applied edit to a.py")),
        Used(Usage(input_tokens=2400, output_tokens=1120, cost_usd=0.02)),
    ]
    [used] = aider.read("Tokens: 12k sent, 9k cache write, 3k cache hit, 250 received.")
    assert used == Used(Usage(input_tokens=12000, output_tokens=250))
    [said] = aider.read("Tokens: ... sent, 5 received is what the test prints")
    assert isinstance(said, Said)


def test_copilot_and_cursor_tell_tools_words_and_the_end() -> None:
    assert read(copilot, COPILOT) == [
        *(Started("s1"), Tool("bash", "ls"), Tool("", done=True)),
        *(Said("Done."), Started("s1"), Finished()),
    ]
    assert read(cursor, CURSOR) == [
        *(Started("s1", "m"), Said("I look."), Tool("read", "a"), Tool("read", "a", done=True)),
        Finished("Done."),
    ]
    failed = '{"type": "result", "subtype": "success", "is_error": true, "result": "no"}'
    assert read(cursor, failed) == [Broke("no")]


def test_goose_tells_its_failure() -> None:
    assert read(goose, '{"type": "error", "error": "no provider"}') == [Broke("no provider")]


@pytest.mark.parametrize(
    ("coder", "words"),
    [
        (agy, [f"--print={POINTER}", "--model=m", "--conversation=s", "--print-timeout=24h"]),
        (aider, [f"--message-file={PROMPT}", "--model=m", "--yes-always"]),
        (copilot, [f"--prompt={POINTER}", "--model=m", "--resume=s", "--allow-all"]),
        (cursor, ["--force", "--model=m", "--resume=s", "--", POINTER]),
        (goose, [f"--instructions={PROMPT}", "--model=m", "--no-session"]),
    ],
)
def test_the_prompt_comes_by_file(coder: Coder, words: list[str]) -> None:
    start = coder.start(assignment(HOME, "Secret plan", model="m", resume="s"))
    assert set(words) <= set(start.argv)
    assert "Secret plan" not in json.dumps([*start.argv, *start.env.values(), start.stdin])


@pytest.mark.parametrize("coder", UNVERIFIED, ids=lambda coder: coder.name)
def test_options_are_passed_on_and_unknown_ones_refused(coder: Coder) -> None:
    options: dict[str, object] = {"program": "/opt/it", "args": ["--more"], "env": {"A": "b"}}
    start = coder.start(assignment(HOME, options=options))
    assert (start.argv[0], start.env["A"]) == ("/opt/it", "b")
    assert "--more" in start.argv
    with pytest.raises(BadConfig, match=f"the coder {coder.name} has no option sandbox"):
        coder.start(assignment(HOME, options={"sandbox": "x"}))


def test_an_account_is_refused_where_the_program_knows_none() -> None:
    with pytest.raises(BadConfig, match="aider does not support accounts"):
        aider.start(assignment(HOME, options={"account": "/a"}))
    assert goose.start(assignment(HOME, options={"account": "/a"})).env["GOOSE_PATH_ROOT"] == "/a"
