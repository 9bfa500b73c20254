"""The landing modes, and the words for where finished work is."""

import json
from typing import Any

import pytest

from codefleet.domain.errors import Invalid
from codefleet.domain.landing_modes import MODES, ends_on_trunk, lands_by_itself, strictest
from codefleet.domain.model import Stage, Task, Usage
from codefleet.domain.views import Status, shown_state
from codefleet.domain.words import LandingMode, State
from codefleet.domain.workflow import workflow
from codefleet.runner.run.handover import HAND_OVERS
from tests.domain.samples import NOON, a_task

QUEUE, REVIEW, BRANCH = LandingMode.QUEUE, LandingMode.REVIEW, LandingMode.BRANCH


@pytest.mark.parametrize("mode", LandingMode)
def test_every_mode_has_its_answers_and_a_way_to_hand_work_over(mode: LandingMode) -> None:
    assert mode in MODES
    assert mode in HAND_OVERS


def test_only_the_queue_lands_by_itself_and_only_a_branch_never_ends_on_the_trunk() -> None:
    assert [mode for mode in LandingMode if lands_by_itself(mode)] == [QUEUE]
    assert [mode for mode in LandingMode if not ends_on_trunk(mode)] == [BRANCH]


def test_the_strictest_mode_lets_the_least_land_without_a_human() -> None:
    assert strictest([QUEUE, REVIEW]) is REVIEW
    assert strictest([BRANCH, QUEUE, REVIEW]) is BRANCH


def test_files_and_stores_call_the_mode_of_a_stage_landing() -> None:
    stages = [{"name": "a", "prompt": "Paint", "landing": "review"}]
    [draft] = workflow.drafts(workflow.parse({"stages": stages}), "w")
    assert draft.stage
    assert draft.stage.lands is REVIEW
    assert draft.stage.plain()["landing"] == "review"
    assert Stage.from_json(draft.stage.json()) == draft.stage
    with pytest.raises(Invalid) as refused:
        workflow.parse({"stages": [{"name": "a", "prompt": "Paint", "landings": "review"}]})
    assert "did you mean `landing`?" in refused.value.hint


def test_scripts_find_work_in_review_and_in_the_lane_under_the_words_they_know() -> None:
    asked = a_task("a", state=State.REVIEW)
    approved, held = asked.evolve(id="b", approved=True), asked.evolve(approved=True, note="edits")
    status = a_status(in_review=(asked, approved))
    assert status.lane == (approved,)
    assert [task["id"] for task in status.plain()["landing"]] == ["a", "b"]
    assert [*map(shown_state, (asked, approved, held))] == ["review", "landing", "held"]


def a_status(**fields: Any) -> Status:
    nothing: dict[str, Any] = dict.fromkeys(
        ("agents", "running", "runs", "waiting", "inbox", "conflicts", "rests"), ()
    )
    return Status(at=NOON, paused=False, counts={}, spent_today=Usage(), **nothing, **fields)


def test_a_task_that_was_stored_while_it_landed_still_is_landing() -> None:
    stored = json.loads(a_task("t").json()) | {"landing": True}
    assert Task.from_json(json.dumps(stored)).is_landing
