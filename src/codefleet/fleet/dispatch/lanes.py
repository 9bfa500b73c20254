"""Lanes, the right to land on a trunk; and conflicts between pieces of work."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from codefleet.domain.errors import Stale
from codefleet.domain.events import event
from codefleet.domain.model import Conflict, Lane, RunnerId, Task, TaskId
from codefleet.fleet.dispatch.part import DispatchPart
from codefleet.ports import Write


class Lanes(DispatchPart):
    async def take_lane(self, repo: str, holder: RunnerId, dead: Collection[str]) -> Lane | None:
        """Take the right to land on this repo's trunk; None if another live runner has it."""
        now = await self.core.store.steady()
        held = next(
            (lane for lane in await self.core.store.records(Lane) if lane.repo == repo), None
        )
        if held and held.holder not in {holder, *dead} and held.lease_until > now:
            return None
        lane = Lane(
            repo=repo,
            holder=holder,
            fence=held.fence + 1 if held else 1,
            lease_until=now + self.core.lease,
            version=held.version + 1 if held else 0,
        )
        try:
            await self.core.write(Write(records=[lane]))
        except Stale:
            return None
        return lane

    async def keep_lane(self, lane: Lane) -> Lane:
        """Renew the lane's lease; Stale if someone else has it by now."""
        until = await self.core.store.steady() + self.core.lease
        kept: Lane = lane.evolve(lease_until=until, version=lane.version + 1)
        await self.core.write(Write(records=[kept]))
        return kept

    async def leave_lane(self, repo: str, holder: RunnerId) -> None:
        """Let someone else land at once instead of after the lease."""
        for lane in await self.core.store.records(Lane):
            if (lane.repo, lane.holder) == (repo, holder):
                left = lane.evolve(
                    lease_until=await self.core.store.steady(), version=lane.version + 1
                )
                with suppress(Stale):  # someone else has it already
                    await self.core.write(Write(records=[left]))

    async def lane_holders(self) -> Collection[RunnerId]:
        """The runners that have a lane, or had it last."""
        return {lane.holder for lane in await self.core.store.records(Lane)}

    async def record_conflict(
        self, left: TaskId, right: TaskId, paths: Sequence[str], found: str
    ) -> Conflict | None:
        """Record that two tasks conflict; None if that is known already."""
        first, second = sorted((left, right))
        now = await self.core.store.now()
        known = [c for c in await self.core.store.records(Conflict) if c.tasks == (first, second)]
        if any(set(conflict.paths) >= set(paths) for conflict in known):
            return None
        conflict = Conflict(
            id=f"{first}+{second}.{len(known) + 1}",
            tasks=(first, second),
            paths=tuple(sorted(paths)),
            found=found,
            found_at=now,
        )
        both = await self.core.get(first), await self.core.get(second)
        told = [
            event("conflict.found", now, text, task=task) for task, text in _told(conflict, both)
        ]
        await self.core.write(Write(records=[conflict], events=told))
        return conflict


def _told(conflict: Conflict, both: Sequence[Task]) -> Iterator[tuple[Task, str]]:
    """What each task's people are told; those of one team learn no task of another."""
    left, right = both
    paths = ", ".join(conflict.paths[:5])
    for task in both:
        if left.team == right.team or task.team is None:
            yield task, f"{left.id} and {right.id} both change {paths}"
        else:
            yield task, f"{task.id} and work outside of the team {task.team} both change {paths}"
