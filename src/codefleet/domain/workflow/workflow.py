"""A workflow: a description of stages that becomes tasks. There is no engine besides the queue.

Two spellings are accepted and may be mixed: ours (`coder`, `prompt`, `needs` by name,
`inherit`) and the older one (`executor`, `prompt_template`, `depends_on` by number,
`worktree_strategy`, `timeout_seconds`, `reasoning_effort`, `extra_args`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import ValidationError

from codefleet.domain.errors import Invalid
from codefleet.domain.model import Draft, Stage
from codefleet.domain.noun import Noun, each_once
from codefleet.domain.validation import complaint, unknown_field
from codefleet.domain.words import State
from codefleet.domain.workflow import plan_checks
from codefleet.domain.workflow.plan import RETRY, Plan, StagePlan, called

OLD_WORDS = {
    "executor": "coder",
    "prompt_template": "prompt",
    "depends_on": "needs",
    "timeout_seconds": "timeout_s",
    "reasoning_effort": "effort",
    "extra_args": "args",
}
OLD_PLAN_WORDS = {"task_prompt": "prompt", "base_ref": "base"}
OF_THE_CODER = ("model", "fallback", "args", "effort")


def parse(said: object, lines: Sequence[int] = ()) -> Plan:
    """Parse a description; every error names its stage and, if known, its line."""
    if not isinstance(said, Mapping):
        raise Invalid("this is not a workflow", hint="a workflow has a name, a prompt and stages")
    stages = said.get("stages")
    if not isinstance(stages, list) or not stages:
        raise Invalid("the workflow has no stages", hint="stages is a list with at least one entry")
    read = [_stage(number, one, stages, lines) for number, one in enumerate(stages)]
    rest = {OLD_PLAN_WORDS.get(word, word): value for word, value in said.items()}
    try:
        plan = msgspec.convert({**rest, "stages": read}, Plan)
    except ValidationError as wrong:
        raise _explained("the workflow", Plan, {**rest, "stages": read}, wrong) from None
    plan_checks.check(plan, lines)
    return plan


def replaced(said: object, changes: Sequence[tuple[str, str]]) -> object:
    """The description with stage fields set: `coder=scripted`, or for one stage `review.coder`.

    A new coder drops what was meant for the old one: model, fallback, arguments.
    """
    if not isinstance(said, Mapping) or not isinstance(said.get("stages"), list):
        return said  # `parse` reports what is wrong with it
    names = [stage.get("name") for stage in said["stages"] if isinstance(stage, Mapping)]
    for key, _ in changes:
        who, dot, _ = key.rpartition(".")
        if dot and who not in names:
            raise Invalid(f"cannot set {key}: there is no stage {who!r}", hint="see the file")
    stages = [
        _replaced(stage, changes) if isinstance(stage, Mapping) else stage
        for stage in said["stages"]
    ]
    return {**said, "stages": stages}


def refuse_without_prompt(plan: Plan) -> None:
    """Refuse a plan that has no prompt although its stages use it."""
    for stage in plan.stages:
        if "{task_prompt}" in stage.prompt and not plan.prompt.strip():
            raise Invalid(
                f"the workflow has no prompt, but its stage {stage.name} uses it",
                hint='say what to do: --prompt "..."',
            )


def drafts(plan: Plan, workflow: str, repo: str | None = None) -> list[Draft]:
    """The tasks that a plan becomes, each with its place in the workflow."""
    return [
        Draft(
            title=f"{plan.name}: {stage.name}"[:200],
            name=stage.name,
            prompt=stage.prompt,
            labels=stage.labels,
            scope=stage.scope,
            needs=stage.needs,
            checks=stage.checks,
            repo=repo,
            coder=stage.coder,
            model=stage.model,
            fallback=stage.fallback,
            budget=stage.budget,
            max_attempts=_attempts(stage),
            timeout_s=stage.timeout_s,
            options=_options(stage),
            base=plan.base,
            stage=Stage(
                workflow=workflow,
                name=stage.name,
                number=number,
                inherit=stage.inherit,
                judges=each_once(stage.judges),
                gate=stage.gate,
                when=stage.when,
                carries_on=stage.on_failure == "continue",
                lands=stage.lands,
            ),
        )
        for number, stage in enumerate(plan.stages)
    ]


def state(stages: Sequence[State]) -> State:
    """The state of a workflow, from its stages: it goes on while any of them can."""
    if State.ASKING in stages:
        return State.ASKING
    if any(not each.is_final for each in stages):
        begun = any(each is not State.PENDING for each in stages)
        return State.RUNNING if begun else State.PENDING
    for bad in (State.FAILED, State.CANCELLED):
        if bad in stages:
            return bad
    return State.COMPLETED


def _replaced(stage: Mapping[str, Any], changes: Sequence[tuple[str, str]]) -> dict[str, Any]:
    fields = dict(stage)
    for key, value in changes:
        who, _, word = key.rpartition(".")
        word = OLD_WORDS.get(word, word)
        if who in ("", fields.get("name")):
            gone = (word, *OF_THE_CODER) if word == "coder" else (word,)
            kept = {each: fields[each] for each in fields if OLD_WORDS.get(each, each) not in gone}
            fields = {**kept, word: value}
    return fields


def _options(stage: StagePlan) -> dict[str, Any]:
    said = {"effort": stage.effort, "args": list(stage.args) or None}
    return {name: value for name, value in said.items() if value is not None}


def _attempts(stage: StagePlan) -> int | None:
    again = RETRY.fullmatch(stage.on_failure)
    return int(again[1]) + 1 if again else None


def _inherits(place: str, strategy: object) -> bool:
    if strategy not in ("new", "inherit"):
        raise Invalid(
            f"{place}: worktree_strategy must be new or inherit, not {strategy!r}",
            hint="inherit continues the work of the stages it needs",
        )
    return strategy == "inherit"


def _stage(number: int, said: object, stages: Sequence[object], lines: Sequence[int]) -> StagePlan:
    """One stage in our spelling, with its needs as names."""
    place = called(number, said.get("name") if isinstance(said, Mapping) else None, lines)
    if not isinstance(said, Mapping):
        raise Invalid(f"{place} is not a stage", hint="a stage has at least a name and a prompt")
    word = "depends_on" if said.get("depends_on") is not None else "needs"
    needs = said.get(word) or ()
    if isinstance(needs, str) or not isinstance(needs, list | tuple):
        raise Invalid(f"{place}: {word} is not a list", hint="for example: needs: [implement]")
    named = {**said, word: [_need(place, need, stages) for need in needs]}
    fields = _in_our_words(place, named)
    try:
        return msgspec.convert(fields, StagePlan)
    except ValidationError as wrong:
        raise _explained(place, StagePlan, fields, wrong) from None


def _in_our_words(place: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are set, each under our name for it."""
    said = {word: value for word, value in said.items() if value is not None}
    for old, new in OLD_WORDS.items():
        if old in said and new in said:
            raise Invalid(
                f"{place}: {old} and {new} are the same field, given twice", hint=f"keep {new}"
            )
    ours = {OLD_WORDS.get(word, word): value for word, value in said.items()}
    if "worktree_strategy" in ours:
        ours["inherit"] = _inherits(place, ours.pop("worktree_strategy"))
    return ours


def _need(place: str, said: object, stages: Sequence[object]) -> str:
    if isinstance(said, str):
        return said
    if isinstance(said, bool) or not isinstance(said, int):
        raise Invalid(
            f"{place}: a need must be the name or the number of a stage",
            hint="for example: needs: [implement]",
        )
    if not 0 <= said < len(stages):
        raise Invalid(
            f"{place}: there is no stage {said}",
            hint=f"needs number stages from 0; the last is {len(stages) - 1}. "
            "Names are safer: needs: [implement]",
        )
    named = stages[said]
    return str(named.get("name")) if isinstance(named, Mapping) else str(said)


def _explained(place: str, kind: type[Noun], said: Any, wrong: ValidationError) -> Invalid:
    found = complaint(kind, said, wrong)
    if found.is_unknown:
        problem, hint = unknown_field(found.place, kind.__struct_encode_fields__)
        return Invalid(f"{place}: {problem}", hint=hint)
    where = f"{found.place}: " if found.where else ""
    return Invalid(f"{place}: {where}{found.what}", hint=f"fix {found.place}")
