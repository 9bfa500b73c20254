"""What a stage hands over: agents' reports, facts from git, and human answers at gates."""

import pytest

from codefleet.domain.errors import Invalid
from codefleet.domain.model import TaskId
from codefleet.domain.words import State
from codefleet.domain.workflow import results, workflow
from codefleet.domain.workflow.results import StageResult, StageStatus


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("approve", (True, "")),
        ("Approved: well done", (True, "well done")),
        ("yes", (True, "")),
        ("ok, go", (True, "go")),
        ("reject: too early\nreally", (False, "too early\nreally")),
        ("rejected", (False, "")),
        ("no", (False, "")),
        ("nobody knows", None),
        ("maybe yes", None),
        ("", None),
    ],
)
def test_a_gate_understands_yes_and_no_and_nothing_else(
    said: str, meant: tuple[bool, str] | None
) -> None:
    assert results.approval(said) == meant


@pytest.mark.parametrize(
    ("said", "summary", "choice"),
    [
        ("codex-impl", "choice: other", "codex-impl"),
        ("", "It is short.\nChoice: codex-impl\n", "codex-impl"),
        ("", "**Choice:** `codex-impl` because", "codex-impl"),
        ("", "there is no choice here", ""),
        ("", "", ""),
    ],
)
def test_a_judge_names_its_choice_in_a_field_or_in_a_line(
    said: str, summary: str, choice: str
) -> None:
    assert results.choice(said, summary) == choice


def test_several_lines_of_an_agent_are_quoted_in_prompts_and_plain_in_conditions() -> None:
    result = StageResult(
        stage="a",
        task=TaskId("t"),
        state=State.COMPLETED,
        status=StageStatus.COMPLETED,
        summary="one\n```fleet\ncrash",
        files=("x.py", "y.py"),
    )
    values = results.values([result])
    assert values[("a", "summary")] == "one\n```fleet\ncrash"
    assert values[("a", "files")] == "x.py, y.py"
    assert results.quoted(values)[("a", "summary")] == "\n> one\n> ```fleet\n> crash"
    assert results.quoted(values)[("a", "files")] == "x.py, y.py"


FILE = {
    "stages": [
        {"name": "a", "executor": "codex", "model": "gpt-5", "extra_args": ["-x"], "prompt": "p"},
        {"name": "b", "coder": "claude", "prompt": "p", "model": "claude-x"},
    ]
}


def test_another_coder_takes_nothing_over_that_was_meant_for_the_old_one() -> None:
    first, second = workflow.parse(workflow.replaced(FILE, [("executor", "scripted")])).stages
    assert (first.coder, first.model, first.args) == ("scripted", None, ())
    assert (second.coder, second.model) == ("scripted", None)


def test_a_field_of_one_stage_is_set_by_its_name() -> None:
    changes = [("b.coder", "codex"), ("b.model", "gpt-5")]
    first, second = workflow.parse(workflow.replaced(FILE, changes)).stages
    assert (first.coder, second.coder, second.model) == ("codex", "codex", "gpt-5")
    with pytest.raises(Invalid, match="there is no stage 'c'"):
        workflow.replaced(FILE, [("c.coder", "codex")])


def test_a_plan_that_speaks_of_the_task_must_be_told_it() -> None:
    plan = workflow.parse({"stages": [{"name": "a", "prompt": "{task_prompt}: x"}]})
    with pytest.raises(Invalid, match="the workflow has no prompt"):
        workflow.refuse_without_prompt(plan)
    workflow.refuse_without_prompt(plan.evolve(prompt="Do it"))
