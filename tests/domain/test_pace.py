"""How long work usually takes, and when the rest will be done."""

from codefleet.domain.pace import Took, left, left_of, usual
from codefleet.domain.words import Complexity

SMALL, LARGE = Complexity.SMALL, Complexity.LARGE
HISTORY = [
    *(Took("claude", SMALL, seconds) for seconds in (60, 120, 1000)),
    Took("claude", LARGE, 3600),
    Took("codex", None, 300),
]


def test_usual_is_the_median_of_the_same_coder_and_complexity() -> None:
    assert usual(HISTORY, "claude", SMALL) == 120


def test_without_such_runs_the_coder_counts_and_then_any_run() -> None:
    assert usual(HISTORY, "codex", LARGE) == 300
    assert usual(HISTORY, "gemini", SMALL) == 300
    assert usual(HISTORY, None, LARGE) == 3600


def test_without_history_nothing_is_usual() -> None:
    assert usual([], "claude", None) is None


def test_a_run_that_takes_long_is_still_expected_to_end() -> None:
    assert left_of(20, 60) == 40
    assert left_of(500, 60) == 6


def test_work_is_shared_by_all_seats() -> None:
    assert left({"a": 60, "b": 60, "c": 60}, {}, seats=3) == 60
    assert left({"a": 60, "b": 60}, {}, beyond=120, seats=2) == 120


def test_a_chain_takes_as_long_as_all_its_links() -> None:
    needs = {"b": ["a"], "c": ["b", "elsewhere"]}
    assert left({"a": 60, "b": 60, "c": 60}, needs, seats=8) == 180


def test_nobody_there_means_no_end_and_nothing_to_do_means_now() -> None:
    assert left({"a": 60}, {}, seats=0) is None
    assert left({}, {}, seats=0) == 0
