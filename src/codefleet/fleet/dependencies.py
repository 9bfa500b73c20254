"""What blocks what: the unfinished tasks as a graph."""

from collections.abc import Sequence

from codefleet.domain import graph
from codefleet.domain.model import Task, TaskId
from codefleet.domain.noun import Noun
from codefleet.domain.words import UNFINISHED, State
from codefleet.fleet.verbs import Verbs
from codefleet.ports import TaskQuery


class Dependencies(Noun):
    """Tasks with their phase, first to last; the longest chain; who blocks how many others.

    `failures` are the failed and cancelled tasks that some of them need, each with all that it
    holds up, nearest first.
    """

    tasks: Sequence[tuple[int, Task]]
    critical_path: Sequence[str]
    holds_up: Sequence[tuple[str, int]]
    failures: Sequence[tuple[str, Sequence[str]]] = ()


class Graph(Verbs):
    async def dependencies(self) -> Dependencies:
        """How the unfinished tasks wait for each other: phases, longest chain, bottlenecks."""
        tasks = await self.core.store.tasks(TaskQuery(states=UNFINISHED))
        known = {str(task.id) for task in tasks}
        needs = {str(task.id): [need for need in task.needs if need in known] for task in tasks}
        phase = graph.levels(needs)
        return Dependencies(
            tasks=sorted(
                ((phase[task.id], task) for task in tasks),
                key=lambda pair: (pair[0], -pair[1].priority),
            ),
            critical_path=graph.critical_path(needs),
            holds_up=sorted(graph.holding_up(needs).items(), key=lambda pair: -pair[1]),
            failures=await self._failures(tasks),
        )

    async def _failures(self, tasks: Sequence[Task]) -> Sequence[tuple[str, Sequence[str]]]:
        needs = {str(task.id): task.needs for task in tasks}
        settled = {TaskId(need) for its in needs.values() for need in its} - set(needs)
        query = TaskQuery(ids=sorted(settled), states=(State.FAILED, State.CANCELLED))
        bad = await self.core.store.tasks(query) if settled else ()
        held = [(str(task.id), graph.held_up_by(task.id, needs)) for task in bad]
        return sorted(held, key=lambda pair: -len(pair[1]))
