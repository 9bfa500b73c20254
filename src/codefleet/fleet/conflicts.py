"""Conflicts: two unfinished pieces of work that change the same lines."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta

from codefleet.domain.model import Conflict, TaskId
from codefleet.domain.words import UNFINISHED
from codefleet.fleet.verbs import Verbs
from codefleet.ports import TaskQuery

LOOK_BACK = timedelta(days=7)


class Conflicts(Verbs):
    async def open_conflicts(self) -> Sequence[Conflict]:
        """Conflicts between two tasks that are both still unfinished."""
        since = await self.core.store.now() - LOOK_BACK
        found = await self.core.store.records(Conflict, since=since)
        ids = sorted({task for conflict in found for task in conflict.tasks})
        tasks = await self.core.store.tasks(TaskQuery(ids=ids)) if ids else ()
        unfinished = {task.id for task in tasks if task.state in UNFINISHED}
        return [conflict for conflict in found if unfinished.issuperset(conflict.tasks)]

    async def shared_files(self) -> Mapping[str, Sequence[TaskId]]:
        """Files that several unfinished tasks have changed, according to git, and those tasks."""
        tasks = {
            task.id: task for task in await self.core.store.tasks(TaskQuery(states=UNFINISHED))
        }
        touched: dict[tuple[str, str], set[TaskId]] = defaultdict(set)
        for run in await self.core.store.runs(tasks=list(tasks)) if tasks else ():
            for change in run.evidence.changes if run.evidence else ():
                touched[tasks[run.task].repo, change.path].add(run.task)
        return {path: sorted(by) for (_, path), by in sorted(touched.items()) if len(by) > 1}
