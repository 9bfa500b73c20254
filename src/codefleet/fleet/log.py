"""The log: what happened, what happens now, and waiting for the next event."""

from collections.abc import AsyncIterator, Sequence

from codefleet.domain.model import Event, TaskId
from codefleet.domain.words import State
from codefleet.fleet.verbs import Verbs
from codefleet.ports import TaskQuery


class Log(Verbs):
    async def events(
        self,
        *,
        after: int = 0,
        task: str | None = None,
        kinds: Sequence[str] = (),
        limit: int = 1000,
        newest: bool = False,
        team: str | None = None,
    ) -> Sequence[Event]:
        """The log, in the order of events, or what of it is a team's; with `newest`, its end."""
        only = (await self.core.get(task)).id if task else None
        return await self.core.store.events(
            after=after, task=only, kinds=kinds, limit=limit, newest=newest, team=team
        )

    async def follow(
        self, *, after: int = 0, task: str | None = None, team: str | None = None
    ) -> AsyncIterator[Event]:
        """Every event after this one, then each new one as it happens."""
        only = (await self.get(task)).id if task else None
        while True:
            latest = await self.last_seq()
            found = await self.events(after=after, task=only, team=team)
            for each in found:
                after = each.seq
                yield each
            if not found:
                after = max(after, latest)  # up to here, nothing was for this reader
                await self.changed(latest, within=5.0)

    async def failed_since(self, seq: int) -> int:
        """How many tasks failed after this event and have not been retried since."""
        found: set[TaskId] = set()
        while page := await self.core.store.events(after=seq, kinds=["task.failed"]):
            seq = page[-1].seq
            found.update(each.task for each in page if each.task)
        query = TaskQuery(ids=sorted(found), states=[State.FAILED])
        return len(await self.core.store.tasks(query)) if found else 0

    async def last_seq(self) -> int:
        """The number of the latest event."""
        return await self.core.store.last_seq()

    async def changed(self, after: int, within: float) -> bool:
        """Wait for an event later than seq `after`; False if `within` seconds passed."""
        return await self.core.store.changed(after, within)
