"""How many seats a runner should have, and for which agents."""

from collections.abc import Sequence
from typing import NamedTuple

from codefleet.domain.model import Task
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.fleet.dispatch.runners import seat_name
from codefleet.ports import TaskQuery


class SeatsWanted(NamedTuple):
    """The number of seats, and the names of agents that tasks are assigned to."""

    number: int
    called: Sequence[str] = ()


async def seats_wanted(fleet: Fleet, least: int, most: int, busy: int) -> SeatsWanted:
    """One seat for each task that is running or ready, between `least` and `most`."""
    ready = await fleet.list(TaskQuery(ready=True, limit=most))
    now = await Dispatch(fleet).steady()
    lost = sum(run.lease_until <= now for run in await Dispatch(fleet).live_runs())
    number = max(least, min(most, busy + len(ready) + lost))
    return SeatsWanted(number, await _called(fleet, ready, most, most - busy))


async def _called(fleet: Fleet, ready: Sequence[Task], most: int, free: int) -> Sequence[str]:
    """The agents that tasks are assigned to, that no runner has and that we could seat."""
    ours = [seat_name(number) for number in range(1, most + 1)]
    called = {task.assignee for task in ready if task.assignee in ours}
    if called:
        called -= {it.name for it in await fleet.agents() if it.state != "offline"}
    return [name for name in ours if name in called][:free]
