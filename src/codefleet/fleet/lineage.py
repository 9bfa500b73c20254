"""How tasks belong together: who created whom, who needs whom, which stages form a workflow."""

from collections.abc import Iterable, Sequence, Set

from codefleet.domain.model import RunId, Task, TaskId, Workflow
from codefleet.ports import Store, TaskQuery


async def above(store: Store, task: Task) -> Sequence[Task]:
    """The tasks whose agents created this one, nearest first; none for a human's task."""
    found: list[Task] = []
    parent = task.parent
    while parent and (above := await store.tasks(TaskQuery(ids=[parent]))):
        found += above
        parent = above[0].parent
    return found


async def needs(store: Store, task: Task) -> Sequence[Task]:
    """The tasks that a task needs."""
    return await store.tasks(TaskQuery(ids=[TaskId(need) for need in task.needs]))


async def descendants(store: Store, tasks: Iterable[TaskId]) -> Sequence[TaskId]:
    """These tasks and all that agents created below them, generation by generation."""
    family = dict.fromkeys(tasks)
    generation = list(family)
    while generation:
        children = await store.tasks(TaskQuery(parents=generation))
        generation = [each.id for each in children if each.id not in family]
        family |= dict.fromkeys(generation)
    return tuple(family)


async def related(store: Store, run: RunId) -> Set[TaskId]:
    """The task of a run, those that it needs, and all below it; none if there is no such run."""
    ids = [each.task for each in await store.runs(ids=[run])]
    tasks = await store.tasks(TaskQuery(ids=ids)) if ids else ()
    needed = {TaskId(need) for task in tasks for need in task.needs}
    return {*needed, *await descendants(store, ids)} if tasks else set()


async def stages(store: Store, task: Task) -> Sequence[Task]:
    """All tasks of the workflow that this one is a stage of."""
    if task.stage is None:
        return ()
    (flow,) = await store.records(Workflow, ids=[task.stage.workflow])
    return await store.tasks(TaskQuery(ids=flow.tasks))
