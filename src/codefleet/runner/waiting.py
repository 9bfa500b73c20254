"""When a runner has to look again: after news, or when something becomes due."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import TaskQuery
from codefleet.runner.context import Context
from codefleet.runner.limits import rate_limits

LONGEST_S = 5.0
LANE_S = 0.5
ROOM_S = 0.25
NEWS = (
    *("task.added", "task.edited", "task.paused", "task.resumed", "task.answered"),
    *("task.submitted", "task.approved", "task.rejected", "task.bounced", "task.completed"),
    *("task.released", "task.retried", "task.failed", "task.cancelled", "task.asked"),
    *("account.rests", "account.woken", "task.rerouted"),
    *("run.failed", "fleet.paused", "fleet.resumed", "runner.stopped", "message.sent"),
)
"""The events after which there may be something to start, stop or land."""


class Waiting:
    """Sleeps until something may have changed; `wake` ends it from inside the runner."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet, self._dispatch = fleet, Dispatch(fleet)
        self._seen = 0
        self._wake = asyncio.Event()

    async def begin(self) -> None:
        """Count as news only what happens from now on."""
        self._seen = await self._fleet.last_seq()

    def wake(self) -> None:
        self._wake.set()

    async def for_news(self, patience: Callable[[], Awaitable[float]]) -> None:
        """Wait for news, for a wake-up, or until something may become due."""
        while not self._wake.is_set():
            changed = asyncio.ensure_future(self._fleet.changed(self._seen, await patience()))
            woken = asyncio.ensure_future(self._wake.wait())
            await asyncio.wait({changed, woken}, return_when="FIRST_COMPLETED")
            for waiting in (changed, woken):
                waiting.cancel()
            await asyncio.gather(changed, woken, return_exceptions=True)
            if not changed.cancelled() and changed.done() and not changed.result():
                break
            if await self.has_news():
                break
        self._wake.clear()

    async def patience(self, *, lane_waits: bool, lacks_room: bool, has_seats: bool) -> float:
        """How long to wait at most before looking again."""
        longest = ROOM_S if lacks_room else LANE_S if lane_waits else LONGEST_S
        if not has_seats:
            return longest
        now = await self._fleet.now()
        due = (await self._dispatch.next_start(), await rate_limits.next_end(self._fleet))
        return min(longest, *(_seconds_until(each, now) for each in due))

    async def has_news(self) -> bool:
        """Has anything happened since the last call that may be a reason to start or stop work?"""
        latest = await self._fleet.last_seq()
        found = await self._fleet.events(after=self._seen, kinds=NEWS, limit=1)
        self._seen = latest
        return bool(found)


async def nothing_left_to_do(context: Context, coder: str) -> bool:
    """Is there nothing left to do without a human? Work that is held in the lane does not count."""
    counts = await context.fleet.counts()
    if counts.get(State.RUNNING) or await context.dispatch.next_start():
        return False
    if await rate_limits.has_waiting_task(context, coder) or await _waits_for_a_remote(context):
        return False
    return all(task.note for task in await context.dispatch.in_lane())


async def _waits_for_a_remote(context: Context) -> bool:
    """Is a task ready whose repo is being copied, or whose remote does not respond?"""
    away = await context.out_of_reach()
    coming = {repo.name for repo in await context.fleet.repos() if repo.shared} & away
    ready = await context.fleet.list(TaskQuery(ready=True)) if coming else ()
    return any(task.repo in coming for task in ready)


def _seconds_until(moment: datetime | None, now: datetime) -> float:
    return LONGEST_S if moment is None else max(0.0, (moment - now).total_seconds())
