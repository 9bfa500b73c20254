"""Tasks and the edges between them, written inside the open transaction.

`unmet`, the number of uncompleted needs, is the one number kept by hand: counted when a task is
added or its needs change, taken down by one when a need is completed, in that same transaction.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from codefleet.domain import graph
from codefleet.domain.errors import Duplicate, NotFound, Stale
from codefleet.domain.model import State, Task
from codefleet.store.sqlite import rows
from codefleet.store.sqlite.database import Database


def add(database: Database, tasks: Sequence[Task]) -> None:
    """Add new tasks with their edges; refuse a taken id, a missing need and a cycle."""
    if not tasks:
        return
    states = _states_around(database, tasks)
    _refuse_duplicates(tasks, states)
    states.update((task.id, task.state) for task in tasks)
    _refuse_missing(tasks, states)
    _refuse_cycle(tasks)
    database.run_many("add_task", (_row(task, states) for task in tasks))
    _add_edges(database, tasks)


def save(database: Database, tasks: Sequence[Task]) -> None:
    """Replace stored tasks, each one version on, and unblock what waited for the completed."""
    edges = [(task, *database.run("edges_of", {"id": task.id}).fetchone()) for task in tasks]
    changed = [task for task, needs, _ in edges if set(json.loads(needs)) != set(task.needs)]
    if changed:
        _check_changed_needs(database, changed)
    for task, _, is_needed in edges:
        if is_needed and task.state is State.COMPLETED:
            database.run("unblock", {"id": task.id})
        replace(database, task)
    if changed:
        _replace_edges(database, changed)


def replace(database: Database, task: Task) -> None:
    """Replace one stored task whose needs are as they were and that nobody waits for."""
    values = {"id": task.id, "version": task.version, "state": task.state}
    if not database.run("save_task", {**values, "body": rows.task_body(task)}).rowcount:
        raise stale("task", task.id)


def stale(word: str, key: str) -> Stale:
    """Somebody else was first."""
    return Stale(f"{word} {key} has changed meanwhile", hint="read it again and repeat")


def _states_around(database: Database, tasks: Iterable[Task]) -> dict[str, State]:
    """The stored states of these tasks and of all they need, as far as they are stored."""
    ids = {need for task in tasks for need in (task.id, *task.needs)}
    found = database.run("states_of", {"ids": rows.listed(ids)})
    return {name: State(state) for name, state in found}


def _refuse_missing(tasks: Iterable[Task], known: Iterable[str]) -> None:
    """Refuse a need that is no task."""
    there = set(known)
    for task in tasks:
        for need in task.needs:
            if need not in there:
                raise NotFound(f"no task {need}", hint="`fleet list` shows every task")


def _refuse_cycle(tasks: Iterable[Task]) -> None:
    """Refuse new tasks that wait for one another. No stored task can wait for a new one."""
    needs: dict[str, tuple[str, ...]] = {task.id: task.needs for task in tasks if task.needs}
    if any(need in needs for its in needs.values() for need in its):
        graph.order(needs)


def _refuse_duplicates(tasks: Iterable[Task], stored: Iterable[str]) -> None:
    taken = set(stored)
    for task in tasks:
        if task.id in taken:
            raise Duplicate(f"there is already a task {task.id}", hint="give it another id")
        taken.add(task.id)


def _check_changed_needs(database: Database, tasks: Sequence[Task]) -> None:
    """Stored tasks may wait for these, so the circle is looked for in the stored graph too."""
    _refuse_missing(tasks, _states_around(database, tasks))
    above = {need for task in tasks for need in task.needs}
    needs: dict[str, list[str]] = {}
    for name, need in database.run("needs_above", {"ids": rows.listed(above)}):
        needs.setdefault(name, []).append(need)
    graph.order({**needs, **{task.id: task.needs for task in tasks}})


def _replace_edges(database: Database, tasks: Sequence[Task]) -> None:
    database.run_many("drop_needs", ({"task": task.id} for task in tasks))
    _add_edges(database, tasks)
    database.run_many("recount", ({"id": task.id} for task in tasks))


def _row(task: Task, states: Mapping[str, State]) -> dict[str, str | int]:
    unmet = sum(states[need] is not State.COMPLETED for need in set(task.needs))
    return {"id": task.id, "unmet": unmet, "body": rows.task_body(task)}


def _add_edges(database: Database, tasks: Iterable[Task]) -> None:
    edges = [{"task": task.id, "need": need} for task in tasks for need in set(task.needs)]
    if edges:
        database.run_many("add_need", edges)
