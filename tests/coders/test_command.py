"""The command coder: argv from the configuration, output of any kind."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.coders.command import coder
from codefleet.domain.errors import BadConfig
from codefleet.domain.signals import Finished, Said
from tests.coders.assignments import assignment

HOME = Path("/home/ada/.fleet")


def test_placeholders_are_replaced_inside_single_arguments() -> None:
    argv = ["agent", "--at={worktree}", "{task} {run}", "{model}", "{session}", "{prompt_file}"]
    start = coder.start(assignment(HOME, model="big", options={"argv": argv}))
    assert start.argv == [
        "agent",
        f"--at={HOME}/work",
        "t1 t1.1",
        "big",
        "t1.1",
        f"{HOME}/runs/t1.1/prompt.md",
    ]


def test_a_value_is_never_split_and_never_read_for_placeholders() -> None:
    options: dict[str, object] = {"argv": ["agent", "{model}"]}
    start = coder.start(assignment(HOME, model="a b {run} $(x) --yolo", options=options))
    assert start.argv == ["agent", "a b {run} $(x) --yolo"]


def test_braces_of_other_languages_are_left_alone() -> None:
    argv = ["agent", '{"a": {"b": 1}}', "{}", "${HOME}"]
    assert coder.start(assignment(HOME, options={"argv": argv})).argv == argv


def test_a_resumed_session_is_handed_over() -> None:
    options: dict[str, object] = {"argv": ["agent", "--session={session}"]}
    start = coder.start(assignment(HOME, number=2, resume="abc", options=options))
    assert start.argv == ["agent", "--session=abc"]


def test_the_prompt_goes_in_by_standard_input_or_by_file() -> None:
    by_stdin = coder.start(assignment(HOME, "Do it", options={"argv": ["agent"]}))
    by_file = coder.start(
        assignment(HOME, "Do it", options={"argv": ["agent", "{prompt_file}"], "prompt": "file"})
    )
    assert by_stdin.stdin == "Do it"
    assert by_file.stdin is None


def test_settings_for_the_program_are_added_to_its_environment() -> None:
    options: dict[str, object] = {"argv": ["agent"], "env": {"QUIET": "1"}}
    assert coder.start(assignment(HOME, options=options)).env == {"QUIET": "1"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "argv is not set"),
        ({"argv": []}, "argv is not set"),
        ({"argv": "agent --yes"}, "argv is not a list of strings"),
        ({"argv": ["agent", 5]}, "argv is not a list of strings"),
        ({"argv": ["agent", "a\0b"]}, "argv is not a list of strings"),
        ({"argv": ["agent", "{promt_file}"]}, "unknown placeholder {promt_file}"),
        ({"argv": ["agent", "{model}"]}, "uses {model}, but the task has none"),
        ({"argv": ["agent"], "prompt": "file"}, "has no {prompt_file}"),
        ({"argv": ["agent"], "prompt": "mail"}, "prompt is mail"),
        ({"argv": ["agent"], "env": ["A=1"]}, "env is not a table of strings"),
        ({"argv": ["agent"], "env": {"A": 1}}, "env is not a table of strings"),
        ({"argv": ["agent"], "shell": True}, "no option shell"),
    ],
)
def test_options_that_cannot_be_used_are_told_with_a_hint(
    options: dict[str, object], problem: str
) -> None:
    with pytest.raises(BadConfig) as told:
        coder.start(assignment(HOME, options=options))
    assert problem in told.value.problem
    assert told.value.hint


def test_plain_text_is_what_the_program_said() -> None:
    assert list(coder.read("  Editing 3 files ")) == [Said("Editing 3 files")]
    assert list(coder.read("   ")) == []


def test_lines_of_the_protocol_are_read_as_such() -> None:
    assert list(coder.read('{"type": "finished", "text": "ok"}')) == [Finished("ok")]
    assert list(coder.read('{"type": "heartbeat"}')) == []


def test_what_only_looks_like_json_is_text() -> None:
    assert list(coder.read("{not json")) == [Said("{not json")]
    assert list(coder.read("{}")) == [Said("{}")]


@given(st.text())
def test_no_line_breaks_the_reading(line: str) -> None:
    assert all(isinstance(signal, Said) for signal in coder.read(line))
