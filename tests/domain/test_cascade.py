"""Stages that fail with a bad one, and come back with it."""

from codefleet.domain.model import Stage, Task
from codefleet.domain.words import State
from codefleet.domain.workflow import cascade
from tests.domain.samples import a_task

P, F, X, C = State.PENDING, State.FAILED, State.CANCELLED, State.COMPLETED


def a_stage(name: str, state: State, *needs: str, by: str | None = None, note: str = "") -> Task:
    stage = Stage(workflow="w", name=name, number=0)
    return a_task(name, stage=stage, state=state, needs=needs, cancelled_by=by, note=note)


def names(tasks: object) -> list[str]:
    return [task.id for task in tasks]  # type: ignore[attr-defined]


def test_only_what_waits_for_the_bad_one_is_doomed() -> None:
    bad = a_stage("bad", F)
    stages = [bad, a_stage("b", P, "bad"), a_stage("c", P, "b"), a_stage("d", P), a_stage("e", C)]
    assert names(cascade.doomed(bad, stages)) == ["b", "c"]
    assert cascade.note(bad) == "it needs bad, which failed"


def test_what_was_taken_along_comes_back_through_the_whole_chain() -> None:
    bad = a_stage("bad", F)
    stages = [a_stage("c", X, "b", by="bad"), a_stage("b", X, "bad", by="bad"), bad]
    assert names(cascade.revived(bad, stages)) == ["b", "c"]


def test_what_was_taken_along_comes_back_whatever_its_note_says() -> None:
    bad = a_stage("bad", F)
    taken = a_stage("b", X, "bad", by="bad", note="worded by another version")
    assert names(cascade.revived(bad, [bad, taken])) == ["b"]


def test_what_was_taken_along_before_the_cause_was_stored_comes_back_by_its_note() -> None:
    bad = a_stage("bad", F)
    old = a_stage("b", X, "bad", note="it needs bad, which failed")
    assert names(cascade.revived(bad, [bad, old])) == ["b"]


def test_what_a_human_cancelled_stays_cancelled() -> None:
    bad = a_stage("bad", F)
    assert cascade.revived(bad, [bad, a_stage("b", X, "bad")]) == []


def test_what_needs_another_bad_one_stays_until_that_is_tried_again_too() -> None:
    bad, worse = a_stage("bad", F), a_stage("worse", F)
    join = a_stage("join", X, "bad", "worse", by="worse")
    assert cascade.revived(bad, [bad, worse, join]) == []
    assert names(cascade.revived(bad, [bad, a_stage("worse", P), join])) == ["join"]


def test_what_stands_apart_is_left_alone() -> None:
    bad, other = a_stage("bad", F), a_stage("other", F)
    assert cascade.revived(bad, [bad, other, a_stage("b", X, "other", by="other")]) == []
