"""A drawing of a workflow's stages: level by level, what each needs, and its progress."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from codefleet.domain import graph
from codefleet.domain.budget import told
from codefleet.domain.model import Run, Task
from codefleet.domain.views import WorkflowStatus
from codefleet.domain.words import State
from codefleet.domain.workflow import results
from codefleet.domain.workflow.plan import Plan, StagePlan
from codefleet.domain.workflow.results import StageResult, StageStatus
from codefleet.doors.cli import show
from codefleet.doors.cli.text import brief, clean, duration, table

BAR = 10
NAMED = 3


def drawing(plan: Plan) -> str:
    """A plan before it starts: its levels, what each stage needs, and who does it."""
    needs = {stage.name: stage.needs for stage in plan.stages}
    known = {stage.name: stage for stage in plan.stages}
    rows = [
        (mark, name, _who(known[name]), _needs(known[name].needs, known[name].inherit))
        for mark, name in levels(needs)
    ]
    return table(("", "STAGE", "CODER", "NEEDS"), rows, stretch=(3,))


def progress(stands: WorkflowStatus, room: int | None = None, lines: int = 10_000) -> str:
    """The status of a workflow: a bar for each stage, how long it took, and its message."""
    names = {str(task.id): _name(task) for task in stands.tasks}
    tasks = {_name(task): task for task in stands.tasks}
    runs = {names[run.task]: run for run in stands.runs}
    found = {each.stage: each for each in results.results(stands.tasks, stands.runs)}
    needs = {_name(task): [names[need] for need in _inside(task, names)] for task in stands.tasks}
    rows = [
        (mark, name, *_told(tasks[name], runs.get(name), found[name], needs[name]))
        for mark, name in levels(needs)
    ]
    hidden = len(rows) - lines
    drawn = table(("", "STAGE", "", "STATE", "TOOK", ""), rows[:lines], stretch=(5,), room=room)
    more = f"\nand {hidden} more" if hidden > 0 else ""
    return f"{drawn}{more}\n{summary(stands)}"


def summary(stands: WorkflowStatus) -> str:
    """One line about the whole, and one about its budget if it has one."""
    done = sum(_is_done(task) for task in stands.tasks)
    flow = stands.workflow
    took = duration((_end(stands) - flow.created_at).total_seconds())
    counted = f"{done}/{len(stands.tasks)} stages done"
    whole = f"{flow.id}  {clean(flow.name)}: {show.state(stands.state)}, {counted}, {took}"
    return f"{whole}\n{told(stands.limit)}" if stands.limit else whole


def levels(needs: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Each stage with a mark for its level: stages on the same level can run at once."""
    depth = graph.levels(needs)
    order = sorted(needs, key=lambda name: depth[name])
    for at, name in enumerate(order):
        first = at == 0 or depth[order[at - 1]] != depth[name]
        last = at + 1 == len(order) or depth[order[at + 1]] != depth[name]
        line = "─" if first and last else "┬" if first else "└" if last else "├"
        yield f"{depth[name] + 1 if first else '':>2} {line}", name


def _told(
    task: Task, run: Run | None, result: StageResult, needs: Sequence[str]
) -> tuple[str, str, str, str]:
    return (
        _bar(task, run),
        show.state(result.status or task.state),
        show.taken(run) if run else "",
        _words(task, run, result, needs),
    )


def _words(task: Task, run: Run | None, result: StageResult, needs: Sequence[str]) -> str:
    if task.state is State.PENDING:
        return clean((task.note and brief(task.note)) or _needs(needs, inherit=False))
    if task.state is State.RUNNING:
        return brief(run.said) if run else ""
    if result.survived or result.status is StageStatus.BLOCKED:
        return brief(result.summary)
    return brief(task.note)


def _bar(task: Task, run: Run | None) -> str:
    """A stage's progress, estimated by the steps that every run takes."""
    steps = (run, run and run.worktree, run and run.session, run and run.evidence)
    begun = 0 if task.state is State.PENDING else 2 * sum(map(bool, steps))
    done = BAR if task.state.is_final else begun
    return "█" * done + "░" * (BAR - done)


def _end(stands: WorkflowStatus) -> datetime:
    if stands.state.is_final:
        return max(task.updated_at for task in stands.tasks)
    return datetime.now(UTC)


def _inside(task: Task, names: Mapping[str, str]) -> list[str]:
    return [need for need in task.needs if need in names]


def _is_done(task: Task) -> bool:
    return task.state is State.COMPLETED and not task.failed_but_continued


def _name(task: Task) -> str:
    return task.stage.name if task.stage else task.id


def _who(stage: StagePlan) -> str:
    if stage.gate is not None:
        return "a human"
    return clean(" ".join(filter(None, (stage.coder or "default", stage.model))))


def _needs(names: Sequence[str], inherit: bool) -> str:
    if not names:
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"← {', '.join(names[:NAMED])}{more}" + (", inherits" if inherit else "")
