"""What a team may write: only what is its own. Anything else is refused as if it did not exist."""

from collections.abc import Iterable, Sequence

from codefleet.domain.errors import Forbidden, NotFound
from codefleet.domain.model import TaskId
from codefleet.domain.noun import Record
from codefleet.ports import NO_TEAM, Store, TaskQuery, Write


async def refuse_foreign(store: Store, team: str, step: Write) -> None:
    """Refuse a step that writes anything of another team, or of the whole fleet.

    Whoever has no team may write what belongs to none.
    """
    if step.settings:
        raise Forbidden("the settings are the fleet's", hint="only the fleet's owner may")
    records = [*step.records, *step.removed]
    for record in records:
        _refuse_others(record, team)
    new = {task.id for task in step.tasks if task.version == 0}
    for task in step.tasks:
        if (task.team or NO_TEAM) != team:
            raise _no_task(task.id)
    await _refuse_unknown(store, team, _tasks_of(step, records) - new)


def _refuse_others(record: Record, team: str) -> None:
    """Refuse a record that says itself that it is another team's, or that can be nobody's."""
    owner = getattr(record, "team", None) or NO_TEAM
    is_of_tasks = bool(getattr(record, "task", None) or getattr(record, "tasks", ()))
    if owner != team and not (owner == NO_TEAM and is_of_tasks):
        what = type(record).__name__.lower()
        raise Forbidden(f"this {what} is not the team's", hint="only the fleet's owner may")


def _tasks_of(step: Write, records: Iterable[Record]) -> set[TaskId]:
    """Every task that the step writes to, or writes something about."""
    named: list[TaskId | None] = [task.id for task in step.tasks]
    named += [run.task for run in step.runs]
    named += [event.task for event in step.events]
    named += step.fences
    for record in records:
        named += [getattr(record, "task", None), *getattr(record, "tasks", ())]
    return {name for name in named if name}


async def _refuse_unknown(store: Store, team: str, tasks: set[TaskId]) -> None:
    ids: Sequence[TaskId] = sorted(tasks)
    known = {task.id for task in await store.tasks(TaskQuery(ids=ids, team=team))} if ids else ids
    for name in ids:
        if name not in known:
            raise _no_task(name)


def _no_task(name: str) -> NotFound:
    return NotFound(f"no task {name}", hint="`fleet list` shows every task")
