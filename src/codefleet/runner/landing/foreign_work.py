"""Work of other tasks on a task's branch: any agent can merge any branch into its own."""

from collections.abc import Iterable, Sequence

from codefleet.domain.landing_modes import lands_by_itself
from codefleet.domain.model import Repo, Run, Task, TaskId
from codefleet.domain.words import LandingMode, State
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import TaskQuery
from codefleet.runner.run.task_branches import Branches

AT_HAND = (State.REVIEW, State.RUNNING, State.ASKING)


async def unapproved_work(
    fleet: Fleet, repo: Repo, task: Task, tip: str, usual: LandingMode
) -> Sequence[Task]:
    """The tasks whose work would land with this one although no human has approved it yet."""
    branches = Branches(repo, None)
    commits = await branches.commits([tip], bases(task, await fleet.runs_of(task.id)))
    oldest = [each for each, parents in commits.items() if commits.keys().isdisjoint(parents)]
    named = await branches.tasks_with(oldest)  # a task that has any of the commits has one of these
    at_hand = await fleet.list(TaskQuery(states=AT_HAND, repo=repo.name))
    ids = {*named, *(each.id for each in at_hand)} - {task.id, *await _built_on(fleet, task)}
    found = await fleet.list(TaskQuery(ids=sorted(ids))) if ids else ()
    others = [each for each in found if await _is_unapproved(fleet, each, task.id, usual)]
    return [each for each in others if await _has_any(fleet, branches, each, commits)]


async def _built_on(fleet: Fleet, task: Task) -> set[TaskId]:
    """The completed tasks that this one needs, directly or not: their work was handed on to it."""
    found: set[TaskId] = set()
    ahead = [task]
    while ahead:
        needs = await Dispatch(fleet).needs_of(ahead.pop())
        new = [each for each in needs if each.state is State.COMPLETED and each.id not in found]
        found |= {each.id for each in new}
        ahead += new
    return found


def bases(task: Task, runs: Iterable[Run]) -> list[str]:
    """The commits at which the fleet itself started a task's work."""
    return [base for base in (task.base, *(run.base for run in runs)) if base]


async def _is_unapproved(fleet: Fleet, other: Task, task: TaskId, usual: LandingMode) -> bool:
    """Must a human decide whether this lands? An agent may land the tasks that it created."""
    if (
        other.landed
        or other.approved
        or task in {each.id for each in await Dispatch(fleet).above(other)}
    ):
        return False
    if other.state is State.REVIEW:
        return True
    return not lands_by_itself(await Dispatch(fleet).landing_mode_of(other, usual))


async def _has_any(fleet: Fleet, branches: Branches, other: Task, commits: Iterable[str]) -> bool:
    """Did a run of this task make any of these commits?"""
    runs = await fleet.runs_of(other.id)
    made = [run.made for run in runs if run.made]
    return not {*commits}.isdisjoint(await branches.commits(made, bases(other, runs)))
