"""Tasks and the edges between them, written inside the open transaction.

`unmet`, the number of uncompleted needs, is the only number maintained by hand: counted when a task
is added or its needs change, decremented when a need is completed, in that same transaction.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from codefleet.domain import scheduling, search
from codefleet.domain.model import Task, TaskId
from codefleet.domain.words import State
from codefleet.store import checks
from codefleet.store.sqlite import rows
from codefleet.store.sqlite.database import Database

TEXTS_AT_ONCE = 1000
"""Few enough that no parameter gets too long, however long the texts are."""


def add(database: Database, tasks: Sequence[Task]) -> None:
    """Add new tasks with their edges; refuse a taken id, a missing need and a cycle."""
    if not tasks:
        return
    states = _states_around(database, tasks)
    checks.refuse_duplicates(tasks, states)
    states.update((task.id, task.state) for task in tasks)
    checks.refuse_missing(tasks, states)
    checks.refuse_cycle(tasks)
    _refuse_taken_handles(database, tasks)
    database.run_many("add_task", (_row(task, states) for task in tasks))
    _put_texts(database, tasks)
    _add_edges(database, tasks)


def save(database: Database, tasks: Iterable[Task], fences: Mapping[TaskId, int]) -> None:
    """Replace stored tasks, each with its next version, and unblock what waited for completed ones.

    The step is refused if the stored fence of a task in `fences` differs, saved or not.
    """
    tasks = [*tasks]
    _refuse_taken_handles(database, tasks)
    held = dict(fences)
    changed = []
    for task in tasks:
        if task.state is State.COMPLETED and _is_needed(database, task):
            database.run("unblock", {"id": task.id})
        fence = held.pop(task.id, None)  # the writer's own first save may raise it
        if not replaced(database, task, held=fence, mark=search.mark(task)):
            if fence is not None:
                _check_fence(database, task.id, fence)
            changed.append(task)
    for name, fence in held.items():
        _check_fence(database, name, fence)
    if changed:
        _save_with_the_rest(database, changed)


def replaced(
    database: Database, task: Task, *, held: int | None = None, mark: int | None = None
) -> bool:
    """Replace one stored task whose needs are unchanged; False if it is not as expected.

    With a mark, its words must be unchanged too.
    """
    values = rows.of_task(task)
    values["held"] = held
    values["mark"] = mark
    return database.run("save_task", values).rowcount == 1


def _refuse_taken_handles(database: Database, tasks: Sequence[Task]) -> None:
    if wanted := checks.handles(tasks):
        found = database.run("live_workers", {"workers": rows.listed(wanted)})
        checks.refuse_taken_handles(tasks, found)


def _is_needed(database: Database, task: Task) -> bool:
    """A cheap check before the expensive one: most tasks are needed by none."""
    return database.run("needed_by", {"id": task.id, "team": None}).fetchone() is not None


def _check_fence(database: Database, task: TaskId, fence: int) -> None:
    """Refuse a writer that no longer holds the task."""
    row = database.run("fence_of", {"id": task}).fetchone()
    if row is None:
        raise checks.no_task(task)
    if row[0] != fence:
        raise checks.lost(task)


def _states_around(database: Database, tasks: Iterable[Task]) -> dict[str, State]:
    """The stored states of these tasks and of everything they need, as far as they are stored."""
    ids = {need for task in tasks for need in (task.id, *task.needs)}
    found = database.run("states_of", {"ids": rows.listed(ids)})
    return {name: State(state) for name, state in found}


def _check_changed_needs(database: Database, tasks: Sequence[Task]) -> None:
    """Stored tasks may wait for these, so the stored graph is searched for a cycle too."""
    checks.refuse_missing(tasks, _states_around(database, tasks))
    above = {need for task in tasks for need in task.needs}
    edges = database.run("needs_above", {"ids": rows.listed(above)})
    checks.refuse_stored_cycle(tasks, edges)


def _save_with_the_rest(database: Database, tasks: Sequence[Task]) -> None:
    """Save tasks whose needs or words have changed, together with those; or they are stale."""
    _check_changed_needs(database, tasks)
    _put_texts(database, tasks)
    for task in tasks:
        database.run("set_needs", {"id": task.id, "needs": rows.listed(task.needs)})
        if not replaced(database, task):
            raise checks.stale("task", task.id)
    database.run_many("drop_needs", ({"task": task.id} for task in tasks))
    _add_edges(database, tasks)
    database.run_many("recount", ({"id": task.id} for task in tasks))


def _put_texts(database: Database, tasks: Sequence[Task]) -> None:
    for first in range(0, len(tasks), TEXTS_AT_ONCE):
        some = tasks[first : first + TEXTS_AT_ONCE]
        database.run("put_text", {"texts": rows.of_texts(some)})


def _row(task: Task, states: Mapping[str, State]) -> dict[str, Any]:
    return {**rows.of_task(task), "unmet": scheduling.count_unmet(task, states)}


def _add_edges(database: Database, tasks: Iterable[Task]) -> None:
    edges = [{"task": task.id, "need": need} for task in tasks for need in set(task.needs)]
    if edges:
        database.run_many("add_need", edges)
