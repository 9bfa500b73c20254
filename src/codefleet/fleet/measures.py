"""Measuring the fleet again and again, without reading the same events twice."""

import asyncio
from collections import Counter

from codefleet.domain.access import Right
from codefleet.domain.measures import LogCount, Measures
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery

PAGE = 250
EXAMINED = 500
"""Of how many ready tasks the reason for waiting is looked up: each of them takes time."""
LATER = "later"


class MetricsReader:
    """Reads what can be measured. What the log adds up to is kept between two readings."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._log = LogCount()
        self._counting: asyncio.Task[None] | None = None
        self._read_to = 0

    async def read(self, asking: Fleet, within: float | None = None) -> Measures:
        """The fleet in numbers, for whoever asks and may read those of all teams.

        Without totals if the log cannot be read `within` these seconds.
        """
        await asking.permit(Right.MEASURE)
        is_read = await self._catch_up(within)
        fleet = self._fleet
        crew, counts = await fleet.crew(), await fleet.counts()
        at_work = [agent for agent in crew.seats if agent.run]
        return Measures(
            at=crew.at,
            seq=await fleet.last_seq(),
            tasks=dict(counts),
            waiting=await self._waiting(counts.get("pending", 0), counts.get("blocked", 0)),
            agents=dict(Counter(agent.state for agent in crew.seats)),
            workers=len(at_work),
            lost_workers=sum(agent.state == "offline" for agent in at_work),
            inbox=dict(Counter(item.kind for item in await fleet.inbox())),
            rests=dict(Counter(rest.reason.value for rest in await fleet.rests())),
            conflicts=len(await fleet.open_conflicts()),
            totals=self._log.read(crew.at) if is_read else None,
        )

    async def close(self) -> None:
        """Stop counting."""
        if self._counting:
            self._counting.cancel()
            await asyncio.gather(self._counting, return_exceptions=True)

    async def _catch_up(self, within: float | None) -> bool:
        """Count the events since the last time. If that takes longer, it goes on by itself."""
        if self._counting is None or self._counting.done():
            self._counting = asyncio.create_task(self._count())
        done, _ = await asyncio.wait({self._counting}, timeout=within)
        for counted in done:
            counted.result()  # if the store is away, whoever asks is told
        return bool(done)

    async def _count(self) -> None:
        end = await self._fleet.last_seq()
        while self._read_to < end:
            await self._count_page(end)
            await asyncio.sleep(0)  # the store may not wait for anything: let others work

    async def _count_page(self, end: int) -> None:
        page = await self._fleet.events(after=self._read_to, kinds=LogCount.KINDS, limit=PAGE)
        for event in page:
            self._log.add(event)
        self._read_to = page[-1].seq if len(page) == PAGE else max(end, self._log.seq)

    async def _waiting(self, pending: int, blocked: int) -> dict[str, int]:
        """Pending tasks by why they wait; `later` are paused, wait for a time, or are far back."""
        ready = await self._fleet.list(TaskQuery(ready=True, limit=EXAMINED))
        reasons = Counter(hold.why.value for hold in (await self._fleet.why(ready)).values())
        others = {"needs": blocked, LATER: max(0, pending - len(ready))}
        return {**reasons, **{why: many for why, many in others.items() if many}}
