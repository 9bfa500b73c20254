"""The archive: events of tasks finished long ago, in compressed files next to the store."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from codefleet.domain.access import Right
from codefleet.domain.events import BILLED, event
from codefleet.domain.model import Event, TaskId
from codefleet.domain.noun import Noun
from codefleet.fleet import archive_files, output
from codefleet.fleet.verbs import Verbs
from codefleet.ports import TaskQuery, Write

PAGE = 1000


class Archived(Noun):
    """How many events of how many tasks moved, and the files that now hold them."""

    events: int = 0
    tasks: int = 0
    files: Sequence[str] = ()


class Archive(Verbs):
    @property
    def _archive_folder(self) -> Path:
        return archive_files.folder(self.core.home)

    async def archive(self, *, older_than: timedelta, dry_run: bool = False) -> Archived:
        """Move the events of tasks that finished longer ago than this into a compressed file.

        Usage events stay in the log, for the bill. Killed at any moment, it loses nothing: the next
        call continues where it stopped.
        """
        await self.core.permit(Right.ARCHIVE)
        before = await self.core.store.now() - older_than
        if dry_run:
            return await self._sum(before)
        with archive_files.held(self._archive_folder):
            left_behind = [
                await self._let_go(f) for f in archive_files.moving(self._archive_folder)
            ]
            if file := await self._written(before):
                return _sum_of([*left_behind, await self._let_go(file)])
            return _sum_of(left_behind)

    async def story(self, *, task: str | None = None, after: int = 0) -> AsyncIterator[Event]:
        """The log in order, including what moved to this machine's archive."""
        only = (await self.core.get(task)).id if task else None
        archived = self._archived(only, after)
        old = await anext(archived, None)
        while page := await self.core.store.events(after=after, task=only):
            for each in page:
                while old and old.seq < each.seq:
                    yield old
                    old = await anext(archived, None)
                if old == each:  # being moved: it is in both
                    old = await anext(archived, None)
                yield each
            after = page[-1].seq
        while old:
            yield old
            old = await anext(archived, None)

    async def is_archived(self, task: str) -> bool:
        """Has `archive` moved the first events of this task out of the log?"""
        only = (await self.core.get(task)).id
        first = await self.core.store.events(task=only, limit=1)
        return not first or first[0].kind != "task.added"

    async def _archived(self, task: TaskId | None, after: int) -> AsyncIterator[Event]:
        """What the actor may see of this machine's archive."""
        files = sorted(self._archive_folder.glob(f"*{archive_files.WHOLE}"))
        stored = archive_files.events(files, task=task, after=after)
        while page := list(islice(stored, PAGE)):
            for each in await output.shown_events(self.core, page):
                yield each
            await asyncio.sleep(0)  # others have their turn, even if nothing of it was shown

    async def _sum(self, before: datetime) -> Archived:
        many, tasks = 0, set[str | None]()
        async for some in self._old(before):
            many += len(some)
            tasks.update(each.task for each in some)
        return Archived(events=many, tasks=len(tasks))

    async def _written(self, before: datetime) -> Path | None:
        """Write everything that should move to one file; None if there is nothing."""
        draft, many = archive_files.NewFile(self._archive_folder), 0
        try:
            async for some in self._old(before):
                draft.add(some)
                many += len(some)
            if many:
                return draft.keep()
        except BaseException:
            draft.drop()
            raise
        draft.drop()
        return None

    async def _let_go(self, file: Path) -> Archived:
        """Remove the events of a file from the store."""
        stored, tasks, gone = archive_files.events([file]), set[str | None](), 0
        while some := list(islice(stored, PAGE)):
            gone += await self.core.store.forget_events(some)
            tasks.update(each.task for each in some)
        file = archive_files.moved(file)
        told = event(
            "fleet.archived", await self.core.store.now(), f"{gone} events moved to {file.name}"
        )
        await self.core.write(Write(events=[told]))
        return Archived(events=gone, tasks=len(tasks), files=(str(file),))

    async def _old(self, before: datetime) -> AsyncIterator[Sequence[Event]]:
        """What should move, a page at a time; ends at the first page with nothing old."""
        finished: dict[TaskId, bool] = {}
        after, last = 0, await self.core.store.last_seq()
        while page := await self.core.store.events(after=after, before=last, limit=PAGE):
            after = page[-1].seq
            old = [each for each in page if each.at < before]
            if not old:
                return
            told = [(each, each.task) for each in old if each.task and each.kind != BILLED]
            unknown = sorted({task for _, task in told} - finished.keys())
            found = await self.core.store.tasks(TaskQuery(ids=unknown)) if unknown else ()
            finished.update((t.id, t.state.is_final and t.updated_at < before) for t in found)
            if some := [each for each, task in told if finished.get(task)]:
                yield some


def _sum_of(parts: Sequence[Archived]) -> Archived:
    return Archived(
        events=sum(part.events for part in parts),
        tasks=sum(part.tasks for part in parts),
        files=[file for part in parts for file in part.files],
    )
