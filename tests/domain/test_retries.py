"""How often a task continues after it was stuck, or after its context was full."""

from itertools import count

import pytest

from codefleet.domain.model import Change, Evidence, Run
from codefleet.domain.retries import MOST_WAITS, may_continue, may_restart, may_wait
from codefleet.domain.words import Outcome, Reason
from tests.domain.samples import a_run, a_task

TIPS = count()
REASONS = {
    "stuck": (Outcome.RELEASED, Reason.STUCK),
    "failed": (Outcome.FAILED, Reason.STUCK),
    "quota": (Outcome.RELEASED, Reason.QUOTA),
    "away": (Outcome.RELEASED, Reason.CRASHED),
    "crashed": (Outcome.FAILED, Reason.CRASHED),
    "full": (Outcome.RELEASED, Reason.CONTEXT_FULL),
}


def a_story(words: str) -> list[Run]:
    """Runs from words such as `full:a`: how each ended, and the file it had changed by then."""
    return [_run(*word.split(":")) for word in words.split()]


def _run(how: str, path: str = "a") -> Run:
    outcome, reason = REASONS[how]
    moved = str(next(TIPS))  # the trunk was merged in, so the tip is always new
    changes = (Change(path=path, kind="added"),)
    evidence = Evidence(base=moved, tip=moved, tree=moved, commits=1, changes=changes)
    return a_run(a_task(), outcome=outcome, reason=reason, evidence=evidence)


@pytest.mark.parametrize(
    ("earlier", "may"),
    [
        ("", True),
        ("stuck", True),
        ("stuck stuck", False),
        ("stuck quota stuck", False),
        ("stuck stuck failed", True),
        ("stuck stuck failed stuck", True),
        ("quota quota quota", True),
    ],
)
def test_a_stuck_agent_is_started_again_twice(earlier: str, may: bool) -> None:
    assert may_restart(a_story(earlier), most=2) is may


@pytest.mark.parametrize(
    ("story", "may"),
    [
        ("full:a", True),
        ("full:a full:a full:a", True),
        ("full:a full:a full:a full:a", False),
        ("full:a full:b full:c full:d full:e", True),
        ("full:a full:a full:b full:b full:b", True),
        ("full:a full:b full:b full:b full:b", False),
        ("full:a full:a quota:a full:a", True),
    ],
)
def test_a_full_context_is_continued_until_three_in_a_row_bring_nothing_new(
    story: str, may: bool
) -> None:
    *earlier, last = a_story(story)
    assert may_continue(last, earlier) is may


@pytest.mark.parametrize(
    ("earlier", "may"),
    [
        ("", True),
        ("away " * (MOST_WAITS - 1), True),
        ("away " * MOST_WAITS, False),
        ("away " * MOST_WAITS + "crashed", True),
    ],
)
def test_a_provider_in_trouble_is_waited_for_so_often_in_a_row(earlier: str, may: bool) -> None:
    assert may_wait(a_story(earlier)) is may
