"""The store itself: every reading, and the way of each writing into the next commit."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

import psycopg

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
)
from codefleet.domain.scheduling import Want
from codefleet.ports import Clock, TaskQuery, Write
from codefleet.store import nouns
from codefleet.store.exchange import parsed
from codefleet.store.postgres import claims, schema, transfer
from codefleet.store.postgres.bell import Bell
from codefleet.store.postgres.commits import Commits
from codefleet.store.postgres.connections import Connections
from codefleet.store.postgres.steps import Answer
from codefleet.store.postgres.transaction import Transaction

N = TypeVar("N", bound=Noun)

BY_URGENCY = ("most_urgent_first", "chosen_by_urgency")


class PostgresStore:
    """The fleet's nouns in one PostgreSQL database. Fulfils `codefleet.ports.Store`.

    It is brought up to date at the first use, or by `open`. Time is the server's; a test may give
    another clock.
    """

    def __init__(
        self,
        address: str,
        *,
        clock: Clock | None = None,
        durability: str = "full",
        create: bool = True,
    ) -> None:
        self._clock = clock
        self._create = create
        self._connections = Connections(address)
        self._bell = Bell(self._connections)
        self._commits = Commits(self._connections, self._bell.ring, is_quick=durability == "normal")
        self._is_ready = False
        self._opening = asyncio.Lock()

    @classmethod
    async def open(
        cls, address: str, *, durability: str = "full", create: bool = True
    ) -> "PostgresStore":
        """Open the store in this database, made and brought up to date if need be."""
        store = cls(address, durability=durability, create=create)
        try:
            await store._ready()
        except BaseException:
            await store.close()
            raise
        return store

    async def close(self) -> None:
        """Refuse what still waits to be written and let go of the server."""
        await self._commits.close()
        await self._bell.close()
        await self._connections.close()

    async def write(self, step: Write) -> Sequence[Event]:
        await self._ready()
        told: Sequence[Event] = await self._commits.ask(step)
        return told

    async def claim(
        self, seats: Sequence[Seat], want: Want, *, lease: timedelta
    ) -> Sequence[Claim]:
        if not seats:
            return ()
        await self._ready()
        asked = claims.Asked(seats, want, lease, self._now())
        given: Sequence[Claim] = await self._commits.ask(asked)
        return given

    async def changed(self, after: int, within: float) -> bool:
        loop = asyncio.get_running_loop()
        until = loop.time() + within
        while True:
            mark = self._bell.mark()  # before the look, so that nothing falls in between
            if await self.last_seq() > after:
                return True
            if loop.time() >= until:
                return False
            await self._bell.wait(mark, until - loop.time())

    async def now(self) -> datetime:
        if self._clock:
            return self._clock.now()
        ((moment, _),) = await self._rows("some_expired", now=None)
        now: datetime = moment
        return now

    async def tasks(self, query: TaskQuery) -> Sequence[Task]:
        filters = {
            "with_ids": query.ids is not None,
            "in_states": bool(query.states),
            "in_repo": query.repo is not None,
            "with_label": query.label is not None,
            "with_text": bool(query.text),
            "that_are_ready": query.ready,
        }
        return await self._nouns(
            Task,
            "tasks",
            *(name for name, is_asked in filters.items() if is_asked),
            *(("newest_first", "chosen_by_age") if query.newest_first else BY_URGENCY),
            ids=list(query.ids or ()),
            states=[str(state) for state in query.states],
            repo=query.repo,
            label=query.label,
            text=(query.text or "").lower(),
            now=self._now(),
            limit=query.limit,
        )

    async def unmet(self, tasks: Sequence[TaskId]) -> Mapping[TaskId, Sequence[Task]]:
        waits: dict[TaskId, list[Task]] = {task: [] for task in tasks}
        for task, body in await self._rows("unmet", ids=list(tasks)):
            waits[task].append(Task.model_validate_json(body))
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
        lists = {"ids": list(ids or ()), "tasks": list(tasks or ())}
        return await self._nouns(Run, "runs", *asked, "oldest_run_first", **lists)

    async def spent(
        self, *, since: datetime, until: datetime | None = None, by: Sequence[str] = ()
    ) -> Sequence[Spent]:
        asked = {f"by_{name}": name in by for name in nouns.BY}
        found = await self._rows("spent", since=since, until=until, **asked)
        return [nouns.spent(row) for row in found]

    async def next_start(self) -> datetime | None:
        ((moment,),) = await self._rows("next_start", now=self._now())
        start: datetime | None = moment
        return start

    async def questions(
        self, *, ids: Sequence[QuestionId] | None = None, open_only: bool = False
    ) -> Sequence[Question]:
        filters = {"questions_with_ids": ids is not None, "questions_that_are_open": open_only}
        asked = (name for name, is_asked in filters.items() if is_asked)
        return await self._nouns(
            Question, "questions", *asked, "oldest_question_first", ids=list(ids or ())
        )

    async def conflicts(self, *, since: datetime | None = None) -> Sequence[Conflict]:
        return await self._nouns(Conflict, "conflicts", since=since)

    async def repos(self) -> Sequence[Repo]:
        return await self._nouns(Repo, "repos")

    async def runners(self) -> Sequence[Runner]:
        return await self._nouns(Runner, "runners")

    async def forget_runner(self, runner: str) -> None:
        async def step(tx: Transaction) -> Answer:
            await tx.run("drop_runner", id=runner)
            return lambda first: None

        await self._ready()
        await self._commits.ask(step)

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
            Workflow, "workflows", *asked, "oldest_workflow_first", ids=list(ids or ())
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
            kinds=list(kinds),
            limit=limit,
        )
        return [nouns.event(*row) for row in (reversed(found) if newest else found)]

    async def last_seq(self) -> int:
        ((seq,),) = await self._rows("last_seq")
        return int(seq)

    async def export(self) -> AsyncIterator[tuple[str, str]]:
        # A connection of its own: one view of everything, however long the reader takes.
        await self._ready()
        try:
            connection = await self._connections.made()
            try:
                await connection.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                async for row in transfer.everything(connection):
                    yield row
            finally:
                await connection.close()
        except psycopg.Error as error:
            raise self._connections.in_words(error) from error

    async def load(self, rows: Sequence[tuple[str, str]]) -> None:
        given = parsed(rows)
        await self._ready()
        await self._commits.ask(lambda tx: transfer.load(tx, given))

    async def erase(self, event: Event) -> None:
        await self._ready()
        await self._commits.ask(lambda tx: transfer.erase(tx, event))

    async def about(self) -> str:
        ((version, _, _),) = await self._rows("server")
        return f"PostgreSQL {version.split()[0]} at {self._connections.place}"

    def _now(self) -> datetime | None:
        """A test's time, or None: then the server's counts."""
        return self._clock.now() if self._clock else None

    async def _ready(self) -> None:
        if self._is_ready:
            return
        async with self._opening:
            if self._is_ready:
                return
            try:
                async with self._connections.one() as connection:
                    place = self._connections.place
                    await schema.brought_up_to_date(connection, place, create=self._create)
            except psycopg.Error as error:
                raise self._connections.in_words(error) from error
            self._is_ready = True

    async def _nouns(self, noun: type[N], *names: str, **values: Any) -> Sequence[N]:
        return [noun.model_validate_json(body) for (body,) in await self._rows(*names, **values)]

    async def _rows(self, *names: str, **values: Any) -> list[Any]:
        """All rows of a reading; a server that is away is waited for."""
        await self._ready()
        patience = self._connections.patience()
        while True:
            try:
                async with self._connections.one() as connection:
                    return await Transaction(connection).rows(*names, **values)
            except psycopg.Error as error:
                await patience.wait_out(error)
