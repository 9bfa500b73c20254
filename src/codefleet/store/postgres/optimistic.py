"""Tasks written without reading them first: they are assumed to be as their writer knows them.

Mostly they are; then a write is a single round trip, and nothing stays locked while the server
waits for us. If they are not, the server itself undoes the transaction (`insist`); then it is
repeated with a read, which can tell what was wrong.
"""

from collections.abc import Sequence

from codefleet.domain import search
from codefleet.domain.model import Task, TaskId
from codefleet.domain.words import State
from codefleet.ports import Write
from codefleet.store import checks
from codefleet.store.postgres import rows, tasks
from codefleet.store.postgres.transaction import Transaction


def is_likely(writes: Sequence[Write]) -> bool:
    """Can it be assumed? A run's writes change neither needs nor words of its task, and new tasks
    that wait for stored ones must know whether those are completed."""
    new = {task.id for one in writes for task in one.tasks if task.version == 0}
    fences = {fence for one in writes for fence in one.fences.items()}
    return len(dict(fences)) == len(fences) and all(_is_likely(one, new) for one in writes)


def _is_likely(one: Write, new: set[TaskId]) -> bool:
    return all(
        new.issuperset(task.needs) if task.version == 0 else one.runs or one.fences
        for task in one.tasks
    )


async def write(tx: Transaction, writes: Sequence[Write]) -> None:
    """Add and replace the tasks of some writes, and unblock what waited for completed ones."""
    given = [task for one in writes for task in one.tasks]
    fences = {task: fence for one in writes for task, fence in one.fences.items()}
    if new := [task for task in given if task.version == 0]:
        await _add(tx, new)
    if old := [task for task in given if task.version > 0]:
        _replace(tx, old, fences)
    if others := fences.keys() - {task.id for task in old}:
        held = {task: str(fences[task]) for task in others}
        tx.run("insist_on_fences", ids=[*held], fences=[*held.values()], many=len(held))


async def _add(tx: Transaction, new: Sequence[Task]) -> None:
    checks.refuse_duplicates(new, ())
    checks.refuse_cycle(new)
    await tasks.put_new(tx, new, {task.id: task.state for task in new})
    await tasks.put_texts(tx, new)


def _replace(tx: Transaction, old: Sequence[Task], fences: dict[TaskId, int]) -> None:
    ids = [task.id for task in old]
    given = [
        {**rows.of_task(task), "held": fences.get(task.id), "mark": search.mark(task)}
        for task in old
    ]
    tx.insist("save_task", "as_assumed", ids=ids, rows=given, many=len(ids))
    if done := [task.id for task in old if task.state is State.COMPLETED]:
        tx.run("unblock", ids=done)
