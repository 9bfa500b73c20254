"""A plan is refused before it starts if its coders cannot do what it asks."""

from pathlib import Path
from typing import Any

import pytest

from codefleet.coders import capabilities, registry
from codefleet.coders.claude import coder as claude
from codefleet.coders.codex import coder as codex
from codefleet.coders.options import laid_over
from codefleet.coders.scripted import coder as scripted
from codefleet.domain.errors import Invalid
from codefleet.domain.model import Draft
from codefleet.domain.workflow import workflow
from codefleet.domain.workflow.plan import Plan
from codefleet.runner.programs import probe
from tests.coders.assignments import assignment


def plan(**fields: Any) -> Plan:
    return workflow.parse({"stages": [{"name": "a", "prompt": "p", **fields}]})


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"coder": "clawd"}, "no coder 'clawd'"),
        ({"coder": "codex", "model": "claude-x"}, "codex has no model 'claude-x'"),
        ({"coder": "claude", "model": "gpt-9"}, "claude has no model 'gpt-9'"),
        ({"coder": "gemini", "effort": "high"}, "the coder gemini has no option effort"),
    ],
)
def test_what_a_coder_cannot_do_is_refused_by_stage_and_line(
    fields: dict[str, Any], says: str
) -> None:
    with pytest.raises(Invalid) as refused:
        capabilities.check(plan(**fields), {}, [7])
    assert refused.value.problem == f"line 7: stage 1 (a): {says}"
    assert refused.value.hint


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"coder": "claude", "model": "opus", "effort": "high"},
        {"coder": "codex", "model": "gpt-9", "effort": "xhigh", "args": ["--x"]},
        {"coder": "opencode", "model": "claude-x"},
        {"coder": "scripted", "effort": "high"},
    ],
)
def test_what_a_coder_can_do_is_let_through(fields: dict[str, Any]) -> None:
    capabilities.check(plan(**fields), {}, [7])


def test_effort_is_handed_to_the_programs_that_know_it(tmp_path: Path) -> None:
    asked = assignment(tmp_path, options={"effort": "high"})
    assert "--effort=high" in claude.start(asked).argv
    assert '--config=model_reasoning_effort="high"' in codex.start(asked).argv


def test_a_task_s_own_options_add_to_the_usual_arguments_and_replace_the_rest() -> None:
    usual = {"args": ["-a"], "env": {"A": "1", "B": "1"}, "effort": "low"}
    own = {"args": ["-b"], "env": {"B": "2"}, "effort": "high"}
    assert laid_over(usual, own) == {
        "args": ["-a", "-b"],
        "env": {"A": "1", "B": "2"},
        "effort": "high",
    }


def test_the_scripted_agent_takes_a_script_from_the_settings_where_the_prompt_has_none(
    tmp_path: Path,
) -> None:
    options: dict[str, object] = {"scripts": {"*": "finish Hello"}}
    without = scripted.start(assignment(tmp_path, "Do it", options=options))
    assert "finish Hello" in str(without.stdin)
    told = "```fleet\nfinish Mine\n```"
    assert "Hello" not in str(scripted.start(assignment(tmp_path, told, options=options)).stdin)


@pytest.mark.parametrize("name", registry.names())
def test_any_coder_starts_with_a_cap_on_its_agents(name: str) -> None:
    table: dict[str, object] = {"argv": ["true"]} if name in ("acp", "command") else {}
    capped = {**table, "most_agents": 2}
    capabilities.refuse_unfit(Draft(title="t", coder=name), {name: capped})
    coder = registry.coder(name)
    assert probe.calls(coder, capped) == probe.calls(coder, table)
