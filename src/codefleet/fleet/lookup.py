"""Workers by their handle and swarms by their id, as far as the actor sees them."""

from collections.abc import Sequence

from codefleet.domain.errors import Invalid, NotFound, Refused
from codefleet.domain.model import Swarm, Task, TaskId
from codefleet.domain.words import UNFINISHED
from codefleet.fleet.core import Core
from codefleet.fleet.viewer import viewer
from codefleet.ports import TaskQuery


async def live_worker(core: Core, ref: str, team: str | None = None) -> Task:
    """The unfinished task of the worker with this handle, or with this task."""
    found = await live_workers(core, ref, team) or await _by_task(core, ref, team)
    return _only([task for task in found if not task.state.is_final], ref)


async def last_worker(core: Core, ref: str, team: str | None = None) -> Task:
    """The same; if it has ended, the last task that had the handle."""
    found = await _seen(core, TaskQuery(handle=ref, newest_first=True), team)
    found = found or await _by_task(core, ref, team)
    if current := [task for task in found if not task.state.is_final]:
        return _only(current, ref)
    latest = {task.team: task for task in reversed(found)}
    return _only([*latest.values()], ref)


async def live_workers(core: Core, handle: str, team: str | None = None) -> Sequence[Task]:
    """The unfinished tasks with this handle, at most one of each team."""
    return await _seen(core, TaskQuery(handle=handle, states=UNFINISHED), team)


async def _by_task(core: Core, ref: str, team: str | None) -> Sequence[Task]:
    found = await _seen(core, TaskQuery(ids=[TaskId(ref)]), team)
    return [task for task in found if task.handle]


async def _seen(core: Core, asked: TaskQuery, team: str | None) -> Sequence[Task]:
    sees = (await viewer(core)).sees
    found = [task for task in await core.store.tasks(asked) if sees(task)]
    return [task for task in found if team in (None, task.team)]


def _only(found: Sequence[Task], ref: str) -> Task:
    """The one that is meant: work for one team must never reach another team's agent."""
    if len(found) > 1:
        oldest_first = sorted(found, key=lambda task: task.created_at)
        which = ", ".join(f"{task.team or 'none'} ({task.id})" for task in oldest_first)
        raise Invalid(
            f"{ref} is a worker of several teams: {which}",
            hint="name its task instead of its handle",
        )
    if not found:
        raise no_worker(ref)
    return found[0]


def no_worker(handle: str) -> NotFound:
    """The error for a handle that no worker has."""
    return NotFound(f"no worker {handle[:80]}", hint="`fleet workers` shows those at work")


async def find_swarm(core: Core, ref: str) -> Swarm:
    """The swarm with this id."""
    sees = (await viewer(core)).sees
    found = [each for each in await core.store.records(Swarm, ids=[ref]) if sees(each)]
    if not found:
        raise NotFound(f"no swarm {ref[:80]}", hint="`fleet swarms` shows them")
    return found[0]


async def open_swarm(core: Core, ref: str) -> Swarm:
    """The same, refused once it was killed."""
    swarm = await find_swarm(core, ref)
    if swarm.killed_at:
        raise Refused(f"the swarm {swarm.id} was killed", hint="create another one")
    return swarm
