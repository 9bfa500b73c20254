"""Conflicts: two unfinished pieces of work that change the same lines."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta

from codefleet.domain.events import event
from codefleet.domain.model import Conflict, TaskId
from codefleet.domain.words import UNFINISHED
from codefleet.fleet.core import Core
from codefleet.ports import TaskQuery, Write

LOOK_BACK = timedelta(days=7)


class Conflicts(Core):
    async def open_conflicts(self) -> Sequence[Conflict]:
        """Conflicts between two tasks that are both still unfinished."""
        since = await self.store.now() - LOOK_BACK
        found = await self.store.conflicts(since=since)
        ids = sorted({task for conflict in found for task in conflict.tasks})
        tasks = await self.store.tasks(TaskQuery(ids=ids)) if ids else ()
        unfinished = {task.id for task in tasks if task.state in UNFINISHED}
        return [conflict for conflict in found if unfinished.issuperset(conflict.tasks)]

    async def shared_files(self) -> Mapping[str, Sequence[TaskId]]:
        """Files that several unfinished tasks have changed, according to git, and those tasks."""
        tasks = {task.id: task for task in await self.store.tasks(TaskQuery(states=UNFINISHED))}
        touched: dict[tuple[str, str], set[TaskId]] = defaultdict(set)
        for run in await self.store.runs(tasks=list(tasks)) if tasks else ():
            for change in run.evidence.changes if run.evidence else ():
                touched[tasks[run.task].repo, change.path].add(run.task)
        return {path: sorted(by) for (_, path), by in sorted(touched.items()) if len(by) > 1}

    async def collide(
        self, left: TaskId, right: TaskId, paths: Sequence[str], found: str
    ) -> Conflict | None:
        """Record that two tasks conflict; None if that is known already."""
        first, second = sorted((left, right))
        now = await self.store.now()
        known = [c for c in await self.store.conflicts() if c.tasks == (first, second)]
        if any(set(conflict.paths) >= set(paths) for conflict in known):
            return None
        conflict = Conflict(
            id=f"{first}+{second}.{len(known) + 1}",
            tasks=(first, second),
            paths=tuple(sorted(paths)),
            found=found,
            found_at=now,
        )
        both = await self.get(first), await self.get(second)
        text = f"{first} and {second} both change {', '.join(conflict.paths[:5])}"
        await self.store.write(
            Write(
                conflicts=[conflict],
                events=[event("conflict.found", now, text, task=task) for task in both],
            )
        )
        return conflict
