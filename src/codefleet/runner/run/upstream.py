"""What a task builds on besides its base: the work of the tasks it needs that has not landed.

A stage of a workflow builds on earlier ones only if it inherits. A stage that failed, was skipped
or is a gate has no work of its own: it passes on what it would have built on.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from codefleet.domain.model import Task, TaskId
from codefleet.domain.workflow import results
from codefleet.domain.workflow.results import StageResult, StageStatus
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch

HAS_WORK = (StageStatus.COMPLETED, StageStatus.NO_CHANGES, StageStatus.BLOCKED)


class Handed(NamedTuple):
    """Work to build on: the commit that the fleet has recorded or, without one, a branch."""

    task: TaskId
    title: str
    branch: str | None
    commit: str | None


async def of(fleet: Fleet, task: Task) -> list[Handed]:
    """The work that this task builds on, without duplicates, in the order of the stages."""
    if task.stage is None:
        needs = await Dispatch(fleet).needs_of(task)
        made = await fleet.last_runs(needs)
        return [
            Handed(n.id, n.title, n.branch, made[n.id].made if n.id in made else None)
            for n in needs
            if not n.landed and n.branch
        ]
    if not _passes_on(task):
        return []
    flow = await fleet.workflow(task.stage.workflow)
    by_task = {each.task: each for each in results.results(flow.tasks, flow.runs)}
    found = _handed_to(task, {each.id: each for each in flow.tasks}, by_task)
    return list(dict.fromkeys(found))


def _handed_to(
    task: Task, stages: Mapping[TaskId, Task], results: Mapping[TaskId, StageResult]
) -> Iterator[Handed]:
    needs = [stages[TaskId(need)] for need in task.needs if need in stages]
    for need in sorted(needs, key=lambda each: each.stage.number if each.stage else 0):
        result = results[need.id]
        if need.branch and result.status in HAS_WORK:
            branch = None if need.landed else need.branch
            yield Handed(need.id, need.title, branch, need.landed or result.tip)
        elif _passes_on(need):
            yield from _handed_to(need, stages, results)


def _passes_on(task: Task) -> bool:
    return task.stage is not None and (task.stage.inherit or task.stage.gate is not None)
