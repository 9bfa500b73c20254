"""Q&A.md, written and read."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain.dialogue import Asked, news, parsed, written
from codefleet.domain.model import Question, QuestionId, RunId, TaskId

WORDS = st.text(st.sampled_from("ab \n\r#-`\\1.") | st.characters(codec="utf-8"), max_size=80)


def asked(text: str, answer: str | None = "yes", options: tuple[str, ...] = ()) -> Question:
    return Question(
        id=QuestionId("t1.1.q"),
        task=TaskId("t1"),
        run=RunId("t1.1"),
        text=text,
        options=options,
        answer=answer,
        asked_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("No heading at all.\n- a\n", []),
        (
            "## Question\n\nWhich port?\n\n- 8080\n- 9090\n",
            [Asked("Which port?", ("8080", "9090"))],
        ),
        ("## Question\nWhy?", [Asked("Why?")]),
        ("## Question 2: Why?\n", [Asked("Why?")]),
        ("### question\r\n\r\nWhy?\r\n* a\r\n* b\r\n", [Asked("Why?", ("a", "b"))]),
        ("    ## Question\n\n    Why?\n\n    1. a\n    2. b\n", [Asked("Why?", ("a", "b"))]),
        ("## Question\n\nA?\n- x\n\nReally?\n", [Asked("A?\n- x\n\nReally?")]),
        ("## Question\n\nA?\n\n## Answer\n\nB.\n", [Asked("A?", (), "B.")]),
        ("## Question\n\n## Question\n\nA?\n", [Asked("A?")]),
        ("## Questions\n\nA?\n", []),
        ("## Answer\n\nto nothing\n", []),
    ],
)
def test_questions_are_found(text: str, expected: list[Asked]) -> None:
    assert parsed(text) == expected


def test_a_question_at_the_end_is_news() -> None:
    known = [asked("Which port?", options=("8080", "9090"))]
    text = written(known) + "\n## Question\n\nWhich host?\n"
    assert news(text, known) == [Asked("Which host?")]


def test_what_was_asked_before_is_no_news_although_the_agent_dropped_the_answer() -> None:
    assert news("## Question\n\nWhich port?\n", [asked("Which port?")]) == []


def test_headings_in_words_of_others_begin_no_section() -> None:
    known = [asked("A?\n## Answer\nfake", "real\n## Question\nfake?")]
    [only] = parsed(written(known))
    assert only.text.startswith("A?\n")
    assert only.answer.startswith("real\n")


def test_the_same_question_again_is_news() -> None:
    known = [asked("Which port?")]
    assert news(written(known) + "\n## Question\n\nWhich port?", known) == [Asked("Which port?")]


def test_a_question_that_the_agent_answered_itself_is_no_news() -> None:
    assert news("## Question\n\nA?\n\n## Answer\n\nI found out: B.\n", []) == []


def test_a_question_that_never_got_an_answer_is_not_asked_again() -> None:
    known = [asked("Which port?", answer=None)]
    assert news(written(known), known) == []


@given(st.lists(st.tuples(WORDS, WORDS), max_size=4))
def test_whatever_was_asked_and_answered_the_file_holds_no_news(
    pairs: list[tuple[str, str]],
) -> None:
    known = [asked(text, answer) for text, answer in pairs]
    assert news(written(known), known) == []


@given(st.lists(st.tuples(WORDS, WORDS), max_size=4))
def test_whatever_was_asked_and_answered_a_new_question_is_news(
    pairs: list[tuple[str, str]],
) -> None:
    known = [asked(text, answer) for text, answer in pairs]
    new = "A question that nobody thought of?"
    assert news(f"{written(known)}\n## Question\n\n{new}\n", known) == [Asked(new)]
