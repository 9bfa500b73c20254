"""Conditions on earlier results."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain.errors import Invalid
from codefleet.domain.workflow.condition import parse

VALUES = {
    ("review", "status"): "blocked",
    ("build", "files"): "api.py, web.py",
    ("build", "summary"): "",
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("review.status == 'blocked'", True),
        ('review.status == "completed"', False),
        ("review.status != 'completed'", True),
        ("'api.py' in build.files", True),
        ("'db.py' in build.files", False),
        ("review.status in ['blocked', 'failed']", True),
        ("review.status in ['block']", False),
        ("review.status not in ['failed', \"completed\"]", True),
        ("'x' in [build.status, review.status]", False),
        ("'db.py' not in build.files", True),
        ("review.status", True),
        ("build.summary", False),
        ("not build.summary", True),
        ("not not review.status", True),
        ("build.summary or review.status", True),
        ("build.summary and review.status", False),
        ("review.status or review.status and build.summary", True),
        ("(review.status or review.status) and build.summary", False),
        ("nobody.status == ''", True),
        ("'a' == 'a'", True),
    ],
)
def test_a_condition_holds_as_it_reads(text: str, holds: bool) -> None:
    assert parse(text).holds(VALUES) is holds


def test_a_condition_tells_what_it_asks_about() -> None:
    asks = parse("review.status == 'x' or 'y' in build.files").asks
    assert asks == {("review", "status"), ("build", "files")}


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "review", "review.status ==", "== 'x'", "(review.status", "review.status)"),
        *("review.status = 'x'", "a.b 'x'", "'open", "__import__('os')", "1 == 1", "a.b;c.d"),
        *("not", "a.b in", "a.b not 'x'", "(" * 50 + "a.b" + ")" * 50, "a.b or " * 200 + "a.b"),
    ],
)
def test_what_is_no_condition_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(text)
    assert "review.status ==" in refused.value.hint


@given(st.text(alphabet="ab.'\"()=!notinor \t", max_size=60))
def test_any_text_is_understood_or_refused(text: str) -> None:
    with suppress(Invalid):
        assert parse(text).holds({}) in (True, False)
