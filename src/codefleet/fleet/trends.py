"""How the fleet has done lately: only the part of the log that a period covers is read."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta

from codefleet.domain import access, trends
from codefleet.domain.access import Right
from codefleet.domain.model import Event, Run, RunId, Task, TaskId
from codefleet.domain.trends import Trends
from codefleet.fleet.core import Core
from codefleet.fleet.verbs import Verbs
from codefleet.ports import TaskQuery

PAGE = 1000
MOST_PAGES = 30
Hours = Annotated[int, Meta(ge=1, le=90 * 24)]


class Trending(Verbs):
    async def trends(self, hours: Hours = 24) -> Trends:
        """How the fleet has done in the last hours: what ended, how coders did, what took long.

        Of a log that is too long for that, only the newest part counts; `since` says from when.
        """
        access.refuse(self.core.actor, Right.READ_STATUS)
        now = await self.core.store.now()
        since = now - timedelta(hours=hours)
        events, is_whole = await _events_since(self.core, since)
        if not is_whole:
            since = events[0].at
        runs = await _runs(self.core, (each.run for each in events if each.kind in trends.RUN_OVER))
        done = (each.task for each in events if each.kind == "task.completed")
        tasks = {task.id: task for task in await _tasks(self.core, done)}
        return trends.compose(since, now, events, runs, tasks)


async def _events_since(core: Core, since: datetime) -> tuple[Sequence[Event], bool]:
    """The events that count, and if they are all of them."""
    start, before = await _seq_at(core, since), None
    found: list[Event] = []
    for _ in range(MOST_PAGES):
        page = await core.store.events(
            after=start, before=before, kinds=trends.KINDS, limit=PAGE, newest=True
        )
        found[:0] = page
        if len(page) < PAGE:
            return found, True
        before = page[0].seq
    return found, False


async def _seq_at(core: Core, since: datetime) -> int:
    """The seq of the last event before this moment, found by halving."""
    low, high = 0, await core.whole_store.last_seq()
    while low < high:
        middle = (low + high) // 2
        following = await core.whole_store.events(after=middle, limit=1)
        if following and following[0].at < since:
            low = following[0].seq
        else:
            high = middle
    return low


async def _runs(core: Core, ended: Iterable[RunId | None]) -> Sequence[Run]:
    """The runs that ended, and those at work."""
    ids = [*dict.fromkeys(each for each in ended if each)]
    found = {run.id: run for run in await core.store.runs(live=True)}
    for at in range(0, len(ids), PAGE):
        for run in await core.store.runs(ids=ids[at : at + PAGE]):
            found[run.id] = run
    return list(found.values())


async def _tasks(core: Core, ids: Iterable[TaskId | None]) -> Sequence[Task]:
    wanted = [*dict.fromkeys(each for each in ids if each)]
    return await core.store.tasks(TaskQuery(ids=wanted)) if wanted else ()
