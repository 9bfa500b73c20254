"""What a request made, when the same request comes once more: see `Operation.again`."""

from collections.abc import Sequence

from codefleet.domain.errors import NotFound
from codefleet.domain.model import Alert, Event, Message, Repo, Task, TaskId, Workflow
from codefleet.fleet import Fleet
from codefleet.fleet.messages import is_message
from codefleet.ports import TaskQuery


async def added(fleet: Fleet, made: Sequence[str]) -> Sequence[Task]:
    """The tasks that a request added, in its order."""
    ids = [TaskId(name) for name in made]
    found = {task.id: task for task in await fleet.list(TaskQuery(ids=ids))}
    if gone := [name for name in ids if name not in found]:  # moved to another team, for example
        raise NotFound(f"no task {gone[0]}", hint="`fleet list --all` shows every task")
    return [found[name] for name in ids]


async def started(fleet: Fleet, made: Sequence[str]) -> Workflow:
    """The workflow that a request started; its name comes after those of its tasks."""
    return (await fleet.workflow(made[-1])).workflow


async def sent(fleet: Fleet, made: Sequence[str]) -> Message:
    """The message that a request sent."""
    return await fleet.message(made[0])


async def broadcasted(fleet: Fleet, made: Sequence[str]) -> Sequence[Message]:
    """The messages that a request sent; it may have posted on a blackboard too."""
    return [await fleet.message(name) for name in made if is_message(name)]


async def notified(fleet: Fleet, made: Sequence[str]) -> Event:
    """The event with which a request told a team; it was kept before it had a number."""
    kept, after = Event.from_json(made[0]), 0
    while page := await fleet.events(after=after, kinds=[kept.kind]):
        for each in page:
            if each.evolve(seq=kept.seq) == kept:
                return each
        after = page[-1].seq
    return kept


async def alerted(fleet: Fleet, made: Sequence[str]) -> Alert:
    """The alert that a request raised."""
    found = await fleet.core.store.records(Alert, ids=made)
    if not found:
        raise NotFound(f"no alert {made[0]}", hint="`fleet inbox` shows the open ones")
    return found[0]


async def registered(fleet: Fleet, made: Sequence[str]) -> Repo:
    """The repo that a request added."""
    return await fleet.repo(made[0])
