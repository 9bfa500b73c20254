"""What every store refuses before it writes, whatever its engine."""

from collections.abc import Collection, Iterable

from codefleet.domain import graph
from codefleet.domain.errors import Duplicate, LostRun, NotFound, Stale
from codefleet.domain.model import Task


def stale(word: str, key: str) -> Stale:
    """Someone else was first."""
    return Stale(f"{word} {key} has changed meanwhile", hint="read it again and repeat")


def lost(task: str) -> LostRun:
    """The writer no longer holds the task."""
    return LostRun(f"the lease on {task} is lost", hint="another run or a human has taken it over")


def no_task(task: str) -> NotFound:
    """There is no such task."""
    return NotFound(f"no task {task}", hint="`fleet list` shows every task")


def refuse_duplicates(tasks: Iterable[Task], stored: Iterable[str]) -> None:
    """Refuse an id that is taken, by a stored task or by another of these."""
    taken = set(stored)
    for task in tasks:
        if task.id in taken:
            raise Duplicate(f"there is already a task {task.id}", hint="give it another id")
        taken.add(task.id)


def handles(tasks: Iterable[Task]) -> list[str]:
    """The names of the workers that these tasks would have; finished tasks have none."""
    return [task.worker for task in tasks if task.worker and not task.state.is_final]


def refuse_taken_handles(tasks: Iterable[Task], stored: Iterable[tuple[str, str]]) -> None:
    """Refuse a handle that another unfinished task of the team has, given as (worker, task)."""
    taken = dict(stored)
    for task in tasks:
        if not task.worker or task.state.is_final:
            continue
        if (holder := taken.setdefault(task.worker, task.id)) != task.id:
            raise Duplicate(
                f"{task.handle} is already the handle of {holder}",
                hint=f"choose another, or end it: `fleet dismiss {task.handle}`",
            )


def refuse_missing(tasks: Iterable[Task], known: Collection[str]) -> None:
    """Refuse a need that is not a task."""
    for task in tasks:
        for need in task.needs:
            if need not in known:
                raise no_task(need)


def refuse_cycle(tasks: Iterable[Task]) -> None:
    """Refuse new tasks that wait for each other. No stored task can wait for a new one."""
    needs: dict[str, tuple[str, ...]] = {task.id: task.needs for task in tasks if task.needs}
    if any(need in needs for its in needs.values() for need in its):
        graph.order(needs)


def refuse_stored_cycle(tasks: Iterable[Task], edges: Iterable[tuple[str, str]]) -> None:
    """Refuse changed needs that close a cycle with stored edges, given as (task, need)."""
    needs: dict[str, list[str]] = {}
    for name, need in edges:
        needs.setdefault(name, []).append(need)
    graph.order({**needs, **{task.id: task.needs for task in tasks}})
