"""An agent's report about its work, parsed as far as it makes sense."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codefleet.domain.model import Change, Evidence, Result
from codefleet.domain.result import corrected, read
from codefleet.domain.words import ReportedStatus

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
NAMES = st.sampled_from(["status", "summary", "tests", "question", "next_steps", "options"])


def test_a_whole_result_is_read_without_a_complaint() -> None:
    text = json.dumps(
        {
            "status": "blocked",
            "summary": "half of it",
            "files_changed": ["a.py"],
            "tests": "14 passed",
            "commits": 2,
            "next_steps": ["the other half"],
            "question": "Which half?",
            "options": ["left", "right"],
        }
    )
    expected = Result(
        status=ReportedStatus.BLOCKED,
        summary="half of it",
        tests="14 passed",
        next_steps=("the other half",),
        question="Which half?",
        options=("left", "right"),
    )
    assert read(text) == (expected, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"status": "comp', "it is not JSON: "),
        ("", "it is not JSON: "),
        ("[" * 100_000, "it is not JSON: "),
        ("[]", "it is not a JSON object"),
        ("{}", "its status is not one of completed, completed_no_changes, blocked"),
        ('{"status": []}', "its status is not one of"),
        ('{"status": "completed", "summary": 7}', "summary is not a string"),
        ('{"status": "completed", "next_steps": [1]}', "next_steps is not a list of strings"),
        ('{"status": "completed", "colour": "red"}', "unknown fields: colour"),
    ],
)
def test_what_is_wrong_is_told(text: str, problem: str) -> None:
    assert problem in "; ".join(read(text).problems)


def test_one_bad_field_does_not_spoil_the_others() -> None:
    found, problems = read('{"status": "completed", "summary": "good", "tests": {}, "x": 1}')
    assert found == Result(summary="good")
    assert len(problems) == 2


def test_texts_and_lists_may_stand_for_one_another() -> None:
    found, problems = read('{"status": "completed", "summary": ["a", "b"], "next_steps": "c"}')
    assert found == Result(summary="a\nb", next_steps=("c",))
    assert problems == ()


def test_long_words_are_cut() -> None:
    said = {"status": "completed", "summary": "x" * 10**6, "next_steps": ["y" * 10**5] * 1000}
    found = read(json.dumps(said)).result
    assert found
    assert len(found.json()) < 20_000


def test_git_overrules_what_it_says_of_files_and_commits() -> None:
    said = read('{"status": "completed", "files_changed": ["lie.py"], "commits": 99}').result
    assert said
    seen = Evidence(
        base="a", tip="b", tree="c", commits=1, changes=(Change(path="true.py", kind="added"),)
    )
    assert corrected(said, seen) == Result(files_changed=("true.py",), commits=1)


@given(st.dictionaries(NAMES | st.text(), ANYTHING) | ANYTHING)
@example({"status": "completed", "summary": "a\0b"})
def test_no_json_raises_and_all_of_it_can_be_stored(value: object) -> None:
    found, problems = read(json.dumps(value))
    assert Result.from_json((found or Result()).json()) == (found or Result())
    "; ".join(problems).encode()


@given(st.text())
def test_no_text_raises(text: str) -> None:
    read(text)
