"""What can be wrong with a plan: names, cycles of needs, results that do not exist yet."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from codefleet.domain import command, graph, scope
from codefleet.domain.errors import Cycle, Invalid
from codefleet.domain.suggestion import did_you_mean
from codefleet.domain.workflow import condition, template
from codefleet.domain.workflow.plan import Plan, StagePlan, called
from codefleet.domain.workflow.template import Variable

NAME = re.compile(r"[A-Za-z_][\w-]{0,63}")


def check(plan: Plan, lines: Sequence[int]) -> None:
    """Check everything that can be wrong between stages."""
    seen: set[str] = set()
    for number, stage in enumerate(plan.stages):
        place = called(number, stage.name, lines)
        for problem, hint in _problems(stage, plan, seen):
            raise Invalid(f"{place}: {problem}", hint=hint)
        seen.add(stage.name)
    needs = {stage.name: stage.needs for stage in plan.stages}
    _refuse_cycle(plan, needs, lines)
    above = _above(needs)
    for number, stage in enumerate(plan.stages):
        _check_results(called(number, stage.name, lines), stage, plan, above[stage.name])


def _refuse_cycle(plan: Plan, needs: Mapping[str, Sequence[str]], lines: Sequence[int]) -> None:
    try:
        graph.order(needs)
    except Cycle as found:
        inside = (name in graph.held_up_by(name, needs) for name in plan.names)
        first = [*inside].index(True)
        problem = found.problem.replace("these tasks", "these stages")
        place = called(first, plan.names[first], lines)
        raise Cycle(f"{place}: {problem}", hint=found.hint) from None


def _problems(stage: StagePlan, plan: Plan, seen: Collection[str]) -> Iterator[tuple[str, str]]:
    names = plan.names
    known = f"the stages are {', '.join(names)[:200]}"
    if not NAME.fullmatch(stage.name):
        yield f"{stage.name[:40]!r} is not a name", "use letters, digits, - and _, a letter first"
    if stage.name in seen:
        yield "two stages have this name", "give each its own name"
    for need in (*stage.needs, *stage.judges):
        if need not in names:
            yield f"there is no stage {need!r}", did_you_mean(need, names, known)
    if stage.inherit and not stage.needs:
        yield "it inherits from no stage", "name the stages it needs, or drop inherit"
    if set(stage.judges) - set(stage.needs):
        yield "it judges a stage that it does not need", "put the stages it judges into needs"
    if stage.judges and stage.inherit:
        yield "a judge does not inherit", "it takes over the work of the stage it picks"
    yield from _of_the_task(stage)


def _of_the_task(stage: StagePlan) -> Iterator[tuple[str, str]]:
    """What is wrong with the task that the stage becomes."""
    if stage.gate is None and not stage.prompt:
        yield "it has no prompt", "say what the agent should do, or make it a gate for humans"
    if stage.gate is not None and not stage.gate.strip():
        yield "its gate asks nothing", "say what a human should decide"
    try:
        scope.valid(stage.scope)
        command.valid(stage.checks)
    except Invalid as wrong:
        yield wrong.problem, wrong.hint


def _check_results(place: str, stage: StagePlan, plan: Plan, above: Collection[str]) -> None:
    """The results that it refers to must exist and be known when it starts."""
    for said, who, field in _asked(place, stage):
        name = _name(who, plan)
        if name is None and field not in template.FIELDS and _may_be_code(said, who):
            continue
        if name is None:
            raise Invalid(
                f"{place}: {said} names no stage", hint=f"stages: {', '.join(plan.names)}"
            )
        if field not in template.FIELDS:
            raise Invalid(
                f"{place}: {said}: a result has no {field!r}",
                hint=f"it has {', '.join(template.FIELDS)}",
            )
        if name not in above:
            raise Invalid(
                f"{place}: {said}: {name} may not be done when it starts",
                hint=f"add {name} to its needs",
            )


def _asked(place: str, stage: StagePlan) -> list[Variable]:
    """The results that its prompt, its gate and its condition refer to."""
    asked = [*template.variables(f"{stage.prompt}\n{stage.gate or ''}")]
    if stage.when is None:
        return asked
    try:
        found = condition.parse(stage.when)
    except Invalid as unclear:
        raise Invalid(f"{place}: {unclear.problem}", hint=unclear.hint) from None
    return asked + [Variable(f"{name}.{field}", name, field) for name, field in sorted(found.asks)]


def _may_be_code(said: str, who: int | str) -> bool:
    """A prompt may contain code with names in braces that refer to no stage."""
    return isinstance(who, str) and said.startswith("{")


def _name(who: int | str, plan: Plan) -> str | None:
    if isinstance(who, int):
        return plan.names[who] if who < len(plan.names) else None
    return who if who in plan.names else None


def _above(needs: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """For each stage, all those that have ended before it starts."""
    found: dict[str, set[str]] = {}
    for name in graph.order(needs):
        found[name] = set(needs[name]).union(*(found[need] for need in needs[name]))
    return found
