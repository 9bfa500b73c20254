"""The lifecycle rules, as the table that is also in docs/explanation/lifecycle.md."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from codefleet.domain.errors import IllegalMove
from codefleet.domain.lifecycle import MOVES, WORDS, Verb, allowed, move
from codefleet.domain.retries import AFTER_FAILURE, AfterFailure
from codefleet.domain.words import Reason, State
from tests.domain.samples import NOON, a_task

TABLE = """\
            pending    running    asking     review     completed  failed     cancelled
claim       running    running    -          -          -          -          -
ask         -          asking     -          -          -          -          -
answer      -          -          pending    -          -          -          -
submit      -          review     -          -          -          -          -
land        -          -          -          completed  -          -          -
reject      -          -          -          pending    -          -          -
complete    -          completed  -          completed  -          -          -
fail        -          failed     -          failed     -          -          -
release     -          pending    -          pending    -          -          -
cancel      cancelled  cancelled  cancelled  cancelled  -          cancelled  -
retry       -          -          -          -          -          pending    pending
pause       pending    running    -          review     -          -          -
resume      pending    running    -          review     -          -          -
"""

PAGE = Path(__file__).parents[2] / "docs/explanation/lifecycle.md"


def moves_in(table: str) -> dict[tuple[Verb, State], State | None]:
    head, *rows = (line.split() for line in table.splitlines())
    return {
        (Verb(verb), State(state)): None if after == "-" else State(after)
        for verb, *cells in rows
        for state, after in zip(head, cells, strict=True)
    }


def legal_moves() -> set[tuple[State, Verb, State]]:
    return {(a, verb, b) for verb, moves in MOVES.items() for a, b in moves.items()}


@pytest.mark.parametrize(("verb", "state"), moves_in(TABLE))
def test_a_move_does_what_the_table_says(verb: Verb, state: State) -> None:
    task = a_task(state=state, version=7)
    after = moves_in(TABLE)[verb, state]
    if after is None:
        with pytest.raises(IllegalMove):
            move(task, verb)
    else:
        moved = move(task, verb)
        assert (moved.state, moved.version) == (after, 8)


def test_the_table_has_every_verb_and_every_state() -> None:
    assert set(moves_in(TABLE)) == {(verb, state) for verb in Verb for state in State}


def test_a_move_leaves_the_task_it_started_from_as_it_was() -> None:
    task = a_task()
    move(task, Verb.CANCEL, note="not needed")
    assert task == a_task()


def test_a_move_takes_its_changes_along() -> None:
    assert move(a_task(), Verb.CANCEL, note="not needed", updated_at=NOON).note == "not needed"


def test_no_change_can_smuggle_in_another_state_or_version() -> None:
    moved = move(a_task(), Verb.CANCEL, state=State.COMPLETED, version=99)
    assert (moved.state, moved.version) == (State.CANCELLED, 1)


def test_a_refused_move_says_what_is_so_and_what_is_allowed() -> None:
    with pytest.raises(IllegalMove) as refused:
        move(a_task(state=State.FAILED), Verb.LAND)
    assert refused.value.problem == "cannot land t1: it is failed"
    assert refused.value.hint == "a failed task allows: cancel, retry"


def test_a_completed_task_allows_nothing() -> None:
    with pytest.raises(IllegalMove) as refused:
        move(a_task(state=State.COMPLETED), Verb.CANCEL)
    assert refused.value.hint == "a completed task allows: nothing"


def test_every_state_but_completed_can_be_left_and_every_state_but_pending_can_be_reached() -> None:
    assert {before for before, _, _ in legal_moves()} == set(State) - {State.COMPLETED}
    assert {after for _, _, after in legal_moves()} == set(State)


def test_final_states_are_left_only_by_a_human() -> None:
    leaving = {verb for before, verb, _ in legal_moves() if before.is_final}
    assert leaving == {Verb.RETRY, Verb.CANCEL}


def test_words_of_other_systems_never_hide_one_of_ours() -> None:
    assert not set(WORDS) & set(State)


def test_the_page_shows_this_table() -> None:
    assert f"```text\n{TABLE}```" in PAGE.read_text(encoding="utf-8")


def test_the_diagram_on_the_page_draws_every_legal_move_and_no_other() -> None:
    edges = re.findall(r"^ +(\w+) --> (\w+): (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    drawn = {
        (State(before), Verb(verb), State(after))
        for before, after, verbs in edges
        for verb in verbs.split(", ")
    }
    assert drawn == legal_moves()


def test_the_page_tells_what_follows_from_every_reason() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (\w+) \| .+ \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {Reason(reason): AfterFailure(then) for reason, then in rows} == AFTER_FAILURE
    assert len(rows) == len(Reason)


def test_the_page_names_the_words_of_other_systems() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [word for word in WORDS if f"`{word}`" not in text] == []


def test_pausing_a_task_leaves_it_where_it_stands() -> None:
    task = a_task(not_before=NOON + timedelta(hours=1))
    paused = move(task, Verb.PAUSE, paused=True)
    assert move(paused, Verb.RESUME, paused=False) == task.evolve(version=2)


def test_every_reason_has_words_for_people() -> None:
    assert all(reason.words and "_" not in reason.words for reason in Reason)


def test_people_are_offered_only_what_would_change_something() -> None:
    waiting = a_task(state=State.REVIEW)
    assert allowed(waiting) == (Verb.LAND, Verb.REJECT, Verb.CANCEL, Verb.PAUSE)
    assert Verb.LAND not in allowed(waiting.evolve(approved=True))
    assert Verb.RESUME in allowed(waiting.evolve(paused=True))
    assert allowed(waiting.evolve(approved=True, is_landing=True)) == ()
    assert allowed(a_task(state=State.FAILED)) == (Verb.CANCEL, Verb.RETRY)
    assert allowed(a_task(state=State.COMPLETED)) == ()


@pytest.mark.parametrize("state", list(State))
def test_whatever_is_offered_is_legal(state: State) -> None:
    task = a_task(state=state)
    for verb in allowed(task):
        move(task, verb)
