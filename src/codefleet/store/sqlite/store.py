"""The store itself: every reading, and the way of each writing into the next commit."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from codefleet.domain.lifecycle import Claim, Seat
from codefleet.domain.model import (
    Conflict,
    Event,
    Lane,
    Message,
    Noun,
    Question,
    QuestionId,
    Repo,
    Rest,
    Run,
    RunId,
    Runner,
    Spent,
    Task,
    TaskId,
    Workflow,
    instant,
)
from codefleet.domain.scheduling import Want
from codefleet.ports import Clock, TaskQuery, Write
from codefleet.store import nouns
from codefleet.store.sqlite import claims, rows, steps, transfer
from codefleet.store.sqlite.bell import Bell
from codefleet.store.sqlite.commits import PATIENCE_S, Commits
from codefleet.store.sqlite.database import Database, Durability, opened
from codefleet.store.sqlite.trouble import explained, in_words, is_busy, moment

N = TypeVar("N", bound=Noun)


BY_URGENCY = ("most_urgent_first", "chosen_by_urgency")


class SqliteStore:
    """The fleet's nouns in one SQLite file. Fulfils `codefleet.ports.Store`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._bell = Bell(database.path, database.version)
        self._commits = Commits(database, self._bell.ring)

    @classmethod
    def open(
        cls, path: Path, *, clock: Clock, durability: Durability = "full", create: bool = True
    ) -> "SqliteStore":
        """Open the store in this file, made and brought up to date if need be."""
        return cls(opened(path, durability=durability, create=create), clock)

    async def close(self) -> None:
        """Refuse what still waits to be written and let go of the file."""
        self._commits.close()
        self._bell.close()
        self._database.close()

    async def write(self, step: Write) -> Sequence[Event]:
        return await self._commits.ask(lambda: steps.write(self._database, step))

    async def claim(
        self, seats: Sequence[Seat], want: Want, *, lease: timedelta
    ) -> Sequence[Claim]:
        def step() -> Sequence[Claim]:
            # The clock is read with the lock in hand: the wait for it must not shorten a lease.
            now = self._clock.now()
            return claims.claim(self._database, seats, want, now=now, lease=lease)

        return await self._commits.ask(step)

    async def changed(self, after: int, within: float) -> bool:
        loop = asyncio.get_running_loop()
        until = loop.time() + within
        with in_words(self._database.path):
            while True:
                mark = self._bell.mark()  # before the look, so that nothing falls in between
                if await self.last_seq() > after:
                    return True
                if not await self._bell.wait(mark, until - loop.time()):
                    return False

    async def now(self) -> datetime:
        return self._clock.now()

    async def tasks(self, query: TaskQuery) -> Sequence[Task]:
        filters = {
            "with_ids": query.ids is not None,
            "in_states": bool(query.states),
            "in_repo": query.repo is not None,
            "with_label": query.label is not None,
            "with_text": bool(query.text),
            "that_are_ready": query.ready,
        }
        found = await self._rows(
            "tasks",
            *(name for name, is_asked in filters.items() if is_asked),
            *(("newest_first", "chosen_by_age") if query.newest_first else BY_URGENCY),
            ids=rows.listed(query.ids or ()),
            states=rows.listed(query.states),
            repo=query.repo,
            label=query.label,
            text=(query.text or "").casefold(),
            now=instant(self._clock.now()),
            limit=-1 if query.limit is None else query.limit,
        )
        return [rows.task(*row) for row in found]

    async def unmet(self, tasks: Sequence[TaskId]) -> Mapping[TaskId, Sequence[Task]]:
        waits: dict[TaskId, list[Task]] = {task: [] for task in tasks}
        for task, body in await self._rows("unmet", ids=rows.listed(tasks)):
            waits[task].append(rows.task(body))
        return waits

    async def needed_by(self, task: TaskId) -> Sequence[TaskId]:
        return [name for (name,) in await self._rows("needed_by", id=task)]

    async def matching(self, prefix: str) -> Sequence[TaskId]:
        found = await self._rows("matching", prefix=prefix, end=f"{prefix}\U0010ffff")
        return [name for (name,) in found]

    async def counts(self) -> Mapping[str, int]:
        return dict(await self._rows("counts"))

    async def runs(
        self,
        *,
        ids: Sequence[RunId] | None = None,
        tasks: Sequence[TaskId] | None = None,
        live: bool = False,
    ) -> Sequence[Run]:
        filters = {
            "runs_with_ids": ids is not None,
            "runs_of_tasks": tasks is not None,
            "runs_that_live": live,
        }
        asked = (name for name, is_asked in filters.items() if is_asked)
        lists = {"ids": rows.listed(ids or ()), "tasks": rows.listed(tasks or ())}
        return await self._nouns(Run, "runs", *asked, "oldest_run_first", **lists)

    async def spent(
        self, *, since: datetime, until: datetime | None = None, by: Sequence[str] = ()
    ) -> Sequence[Spent]:
        found = await self._rows(
            "spent",
            since=instant(since),
            until=instant(until) if until else rows.END_OF_TIME,
            **{f"by_{name}": name in by for name in nouns.BY},
        )
        return [nouns.spent(row) for row in found]

    async def next_start(self) -> datetime | None:
        ((moment,),) = await self._rows("next_start", now=instant(self._clock.now()))
        return datetime.fromisoformat(moment) if moment else None

    async def questions(
        self, *, ids: Sequence[QuestionId] | None = None, open_only: bool = False
    ) -> Sequence[Question]:
        filters = {"questions_with_ids": ids is not None, "questions_that_are_open": open_only}
        asked = (name for name, is_asked in filters.items() if is_asked)
        return await self._nouns(
            Question, "questions", *asked, "oldest_question_first", ids=rows.listed(ids or ())
        )

    async def conflicts(self, *, since: datetime | None = None) -> Sequence[Conflict]:
        earliest = instant(since) if since else ""
        return await self._nouns(Conflict, "conflicts", since=earliest)

    async def repos(self) -> Sequence[Repo]:
        return await self._nouns(Repo, "repos")

    async def runners(self) -> Sequence[Runner]:
        return await self._nouns(Runner, "runners")

    async def forget_runner(self, runner: str) -> None:
        await self._commits.ask(lambda: self._database.run("drop_runner", {"id": runner}))

    async def lanes(self) -> Sequence[Lane]:
        return await self._nouns(Lane, "lanes")

    async def messages(self, *, open_only: bool = False) -> Sequence[Message]:
        asked = ("messages_that_are_open",) if open_only else ()
        return await self._nouns(Message, "messages", *asked, "oldest_message_first")

    async def rests(self) -> Sequence[Rest]:
        return await self._nouns(Rest, "rests")

    async def workflows(self, *, ids: Sequence[str] | None = None) -> Sequence[Workflow]:
        asked = () if ids is None else ("workflows_with_ids",)
        return await self._nouns(
            Workflow, "workflows", *asked, "oldest_workflow_first", ids=rows.listed(ids or ())
        )

    async def settings(self) -> Mapping[str, str]:
        return dict(await self._rows("settings"))

    async def events(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        task: TaskId | None = None,
        kinds: Sequence[str] = (),
        limit: int = 1000,
        newest: bool = False,
    ) -> Sequence[Event]:
        filters = {
            "events_before": before is not None,
            "events_of_task": task is not None,
            "events_of_kinds": bool(kinds),
        }
        found = await self._rows(
            "events",
            *(name for name, is_asked in filters.items() if is_asked),
            "last_events" if newest else "first_events",
            after=after,
            before=before,
            task=task,
            kinds=rows.listed(kinds),
            limit=limit,
        )
        return [nouns.event(*row) for row in (reversed(found) if newest else found)]

    async def last_seq(self) -> int:
        ((seq,),) = await self._rows("last_seq")
        return int(seq)

    async def export(self) -> AsyncIterator[tuple[str, str]]:
        # A connection of its own: one view of everything, however long the reader takes.
        with in_words(self._database.path), closing(self._database.again()) as view:
            view.connection.execute("BEGIN")
            for row in transfer.everything(view):
                yield row

    async def load(self, rows: Sequence[tuple[str, str]]) -> None:
        from codefleet.store.exchange import parsed  # here, because it is seldom needed

        given = parsed(rows)
        await self._commits.ask(lambda: transfer.load(self._database, given))

    async def erase(self, event: Event) -> None:
        await self._commits.ask(lambda: transfer.erase(self._database, event))

    async def about(self) -> str:
        return f"SQLite {sqlite3.sqlite_version} in {self._database.path}"

    async def _nouns(self, noun: type[N], *names: str, **values: Any) -> Sequence[N]:
        return [noun.model_validate_json(body) for (body,) in await self._rows(*names, **values)]

    async def _rows(self, *names: str, **values: Any) -> list[Any]:
        """All rows of a reading, which waits for nobody, except while a crash is cleaned up."""
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + PATIENCE_S
        while True:
            try:
                return self._database.run_joined(names, values).fetchall()
            except sqlite3.Error as error:
                if not is_busy(error) or loop.time() > give_up_at:
                    raise explained(error, self._database.path) from error
            await asyncio.sleep(moment())
