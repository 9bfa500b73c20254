"""Conflicts: two unfinished pieces of work that would break the same lines."""

from collections.abc import Sequence

from codefleet.domain.events import event
from codefleet.domain.model import Conflict, TaskId
from codefleet.fleet.core import Core
from codefleet.ports import Write


class Conflicts(Core):
    async def collide(
        self, left: TaskId, right: TaskId, paths: Sequence[str], found: str
    ) -> Conflict | None:
        """Record that two tasks collide; None when the same collision is known already."""
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
