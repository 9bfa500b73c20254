"""Workflows: a description becomes tasks, or an error that names its stage and line."""

from typing import Any

import pytest

from codefleet.domain.errors import Cycle, Invalid
from codefleet.domain.model import Budget
from codefleet.domain.words import LandingMode
from codefleet.domain.workflow import workflow
from codefleet.domain.workflow.plan import Plan


def stage(name: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "coder": "scripted", "prompt": "{task_prompt}", **more}


def plan(*stages: dict[str, Any], **more: Any) -> Plan:
    return workflow.parse({"name": "wf", "prompt": "Mend it", "stages": list(stages), **more})


OLD = {
    "name": "write-review-refine",
    "task_prompt": "Add validation",
    "stages": [
        {
            "name": "implement",
            "executor": "codex",
            "prompt_template": "{task_prompt}",
            "worktree_strategy": "new",
            "depends_on": [],
            "timeout_seconds": 60,
            "reasoning_effort": "high",
            "extra_args": ["--x"],
        },
        {
            "name": "review",
            "executor": "claude",
            "prompt_template": "Review:\n{stage_0_summary}\nFiles: {stage_0_files}",
            "worktree_strategy": "inherit",
            "depends_on": [0],
            "model": None,
        },
    ],
}


def test_the_older_spelling_means_the_same() -> None:
    first, second = workflow.drafts(workflow.parse(OLD), "w1", "shop")
    assert (first.title, first.coder, first.timeout_s) == (
        "write-review-refine: implement",
        "codex",
        60,
    )
    assert first.options == {"effort": "high", "args": ["--x"]}
    assert second.needs == ("implement",)
    assert second.stage is not None
    assert (second.stage.workflow, second.stage.number, second.stage.inherit) == ("w1", 1, True)
    assert second.stage.lands is LandingMode.BRANCH


def test_a_stage_hands_its_own_rules_to_its_task() -> None:
    described = plan(
        stage("a", checks=["true"], scope=["src/**"], labels=["x"], budget={"usd": 2.0}),
        stage("b", needs=["a"], on_failure="retry 4", landing="queue", when="a.status == 'x'"),
        stage("c", needs=["a"], on_failure="continue"),
        stage("d", needs=["b", "c"], judges=["b", "c"]),
        {"name": "e", "gate": "Ship it?", "needs": ["d"]},
    )
    a, b, c, d, e = workflow.drafts(described, "w1")
    assert (a.checks, a.scope, a.labels, a.budget) == (
        ("true",),
        ("src/**",),
        ("x",),
        Budget(usd=2.0),
    )
    assert b.max_attempts == 5
    assert b.stage
    assert (b.stage.lands, b.stage.when) == (LandingMode.QUEUE, "a.status == 'x'")
    assert c.stage
    assert c.stage.carries_on
    assert d.stage
    assert d.stage.judges == ("b", "c")
    assert e.stage
    assert e.stage.gate == "Ship it?"


@pytest.mark.parametrize(
    ("stages", "says"),
    [
        ([stage("a", needs=["b"]), stage("b", needs=["a"])], "line 10: stage 1 (a): these stages"),
        ([stage("a"), stage("b", needs=["b"])], "line 20: stage 2 (b): these stages"),
        ([stage("a", executor="codex")], "executor and coder are the same field, given twice"),
        ([stage("a"), stage("b", needs=["a"], depends_on=[])], "are the same field, given twice"),
        ([stage(["a"])], "name: should be a string, not a list of 1"),
        ([stage("a", needs=["x"])], "line 10: stage 1 (a): there is no stage 'x'"),
        ([stage("a", depends_on=[3])], "there is no stage 3"),
        ([stage("a", depends_on=[True])], "a need must be the name or the number of a stage"),
        ([stage("a"), stage("a")], "line 20: stage 2 (a): two stages have this name"),
        ([stage("a", inherit=True)], "it inherits from no stage"),
        ([stage("a", worktree_strategy="share")], "worktree_strategy must be new or inherit"),
        ([stage("a", prompt="{stage_7_summary}")], "{stage_7_summary} names no stage"),
        ([stage("a", prompt="{b.sumary}"), stage("b")], "a result has no 'sumary'"),
        ([stage("a", prompt="{x.summary}")], "{x.summary} names no stage"),
        ([stage("a", prompt="{b.summary}"), stage("b")], "b may not be done when it starts"),
        ([stage("a", when="b.status == 'x'"), stage("b")], "b may not be done"),
        ([stage("a", when="b.status ==")], "is unclear"),
        ([stage("a", when="x.status == ''")], "names no stage"),
        ([stage("a", on_failure="shrug")], "on_failure must be fail, continue or retry N"),
        ([stage("a", colour="red")], "unknown field `colour`"),
        ([stage("a", needs="b")], "needs is not a list"),
        ([stage("a b")], "is not a name"),
        ([{"name": "a"}], "it has no prompt"),
        ([stage("a"), stage("b", judges=["a"])], "judges a stage that it does not need"),
        ([stage("a", scope=["../x"])], "line 10: stage 1 (a): '../x' is not a file scope"),
        ([stage("a", checks=["say 'x"])], 'the command "say \'x" has an unclosed quote'),
        ([stage("a", checks=[""])], "line 10: stage 1 (a): a command is empty"),
        ([stage("a", gate=" ")], "line 10: stage 1 (a): its gate asks nothing"),
        (["a"], "line 10: stage 1 is not a stage"),
        ([], "the workflow has no stages"),
    ],
)
def test_a_mistake_is_refused_by_its_stage_and_line(stages: list[Any], says: str) -> None:
    with pytest.raises(Invalid) as refused:
        workflow.parse({"prompt": "Mend it", "stages": stages}, lines=[10, 20])
    assert says in refused.value.problem
    assert refused.value.hint


def test_a_complaint_stays_short_whatever_was_said() -> None:
    with pytest.raises(Invalid) as refused:
        plan(stage("a", needs=[["x" * 99_999] * 99]))
    assert len(refused.value.problem) < 500


def test_what_is_no_name_is_refused_also_where_a_field_is_set() -> None:
    said = {"stages": [stage(["a"])]}
    assert workflow.replaced(said, [("coder", "codex")])
    with pytest.raises(Invalid, match=r"cannot set a\.coder: there is no stage 'a'"):
        workflow.replaced(said, [("a.coder", "codex")])


def test_a_field_that_is_set_replaces_it_in_either_spelling() -> None:
    old = {"name": "a", "executor": "codex", "reasoning_effort": "high", "prompt_template": "p"}
    said = workflow.replaced({"stages": [old]}, [("coder", "scripted")])
    (draft,) = workflow.drafts(workflow.parse(said), "w")
    assert (draft.coder, draft.options, draft.prompt) == ("scripted", {}, "p")


def test_stages_that_wait_for_one_another_are_a_cycle() -> None:
    with pytest.raises(Cycle):
        plan(stage("a", needs=["b"]), stage("b", needs=["a"]))


@pytest.mark.parametrize("said", [None, [], "x", {"stages": "x"}, {"stages": [], "name": 3}])
def test_what_is_no_workflow_is_refused(said: object) -> None:
    with pytest.raises(Invalid):
        workflow.parse(said)


def test_code_in_a_prompt_is_not_taken_for_a_variable() -> None:
    plan(stage("a", prompt='use {user.name} and {"b": 1} and {stage_x_y}'))
