"""Prompts with variables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain.workflow import template

NAMES = ["implement", "review-it"]
VALUES = {
    ("implement", "summary"): "Added {task_prompt} and {stage_1_summary}",
    ("implement", "files"): "a.py, b.py",
    ("review-it", "status"): "blocked",
}


@pytest.mark.parametrize(
    ("said", "filled"),
    [
        ("Do: {task_prompt}", "Do: mend it"),
        ("{stage_0_files}", "a.py, b.py"),
        ("{implement.files}", "a.py, b.py"),
        ("{review-it.status}/{stage_1_status}", "blocked/blocked"),
        ("{implement.next_steps}.", "."),
        ("{stage_1_result}.", "."),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("{user.name} {stage_9_summary} {nobody.summary}", None),
        ("{{task_prompt}}", "{mend it}"),
        ("{ task_prompt } {0} {} {stage_x_summary}", None),
    ],
)
def test_only_variables_are_replaced(said: str, filled: str | None) -> None:
    assert template.fill(said, "mend it", NAMES, VALUES) == (said if filled is None else filled)


def test_what_was_put_in_is_not_looked_at_again() -> None:
    filled = template.fill("{implement.summary}", "mend it", NAMES, VALUES)
    assert filled == "Added {task_prompt} and {stage_1_summary}"


@given(st.text(alphabet="{}stage_0.ab ", max_size=60))
def test_text_without_stages_stays_as_it_is(said: str) -> None:
    assert template.fill(said, "", [], {}) == said.replace("{task_prompt}", "")
