"""What blocks what: the unfinished tasks as a graph."""

from collections.abc import Sequence
from typing import NamedTuple

from codefleet.domain import graph
from codefleet.domain.model import Task
from codefleet.domain.words import UNFINISHED
from codefleet.fleet.core import Core
from codefleet.ports import TaskQuery


class Dependencies(NamedTuple):
    """Tasks with their phase, first to last; the longest chain; who blocks how many others."""

    tasks: Sequence[tuple[int, Task]]
    critical_path: Sequence[str]
    holds_up: Sequence[tuple[str, int]]


class Graph(Core):
    async def dependencies(self) -> Dependencies:
        """How the unfinished tasks wait for each other."""
        tasks = await self.store.tasks(TaskQuery(states=UNFINISHED))
        known = {str(task.id) for task in tasks}
        needs = {str(task.id): [need for need in task.needs if need in known] for task in tasks}
        phase = graph.levels(needs)
        held = [(name, len(graph.held_up_by(name, needs))) for name in needs]
        return Dependencies(
            tasks=sorted(
                ((phase[task.id], task) for task in tasks),
                key=lambda pair: (pair[0], -pair[1].priority),
            ),
            critical_path=graph.critical_path(needs),
            holds_up=sorted((pair for pair in held if pair[1]), key=lambda pair: -pair[1]),
        )
