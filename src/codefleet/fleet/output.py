"""Whose output the actor may read: what agents did and said, and what they left in their worktrees.

Tasks and their states are for everybody who sees them at all.
"""

from collections.abc import Iterable, Sequence, Set

from codefleet.domain.access import AgentOf, Holder, Right, allowed
from codefleet.domain.model import Event, Run, TaskId
from codefleet.fleet import lineage
from codefleet.fleet.core import Core
from codefleet.fleet.team_store import TeamStore
from codefleet.ports import TaskQuery


async def readable(core: Core, tasks: Iterable[TaskId]) -> Set[TaskId]:
    """Those of these tasks whose output the actor may read.

    An agent may read that of its own task, of what that needs, and of the tasks below it; a member
    that of tasks assigned to it, and of all if its role allows.
    """
    wanted = {*tasks}
    match core.actor:
        case AgentOf(run=run):
            return wanted & await lineage.related(core.store, run)
        case Holder(role=role, handle=handle) if role not in allowed(Right.READ_OUTPUT).roles:
            found = await core.store.tasks(TaskQuery(ids=sorted(wanted))) if wanted else ()
            return {task.id for task in found if task.assignee == handle}
        case _:
            return wanted


async def shown_runs(core: Core, runs: Sequence[Run]) -> Sequence[Run]:
    """These runs, without output that the actor may not read."""
    may = await readable(core, (run.task for run in runs))
    return [run if run.task in may else run.without_output() for run in runs]


async def shown_events(core: Core, events: Sequence[Event]) -> Sequence[Event]:
    """Those of these events of tasks that the actor may see, although no store has them."""
    return await core.store.shown(events) if isinstance(core.store, TeamStore) else events
