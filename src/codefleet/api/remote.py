"""A fleet at a distance: the same verbs, asked of a server."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from inspect import signature
from pathlib import Path
from time import monotonic
from typing import Any, Self

from codefleet.api import writing
from codefleet.api.link import Link
from codefleet.api.only_there import ONLY_THERE, only_there, refused
from codefleet.api.operation import Operation
from codefleet.api.remote_machine import RemoteMachine
from codefleet.api.table import BY_NAME, OPERATIONS
from codefleet.api.teams import Invited, IssuedToken
from codefleet.api.verbs import Similar, TaskList
from codefleet.config import Config
from codefleet.domain.access import HUMAN, Actor, Right
from codefleet.domain.model import (
    Budget,
    Draft,
    Event,
    Invite,
    Post,
    Run,
    RunId,
    Task,
    TaskId,
    Workflow,
)
from codefleet.domain.scheduling import Hold
from codefleet.domain.views import Spent, WorkflowStatus
from codefleet.domain.words import Role
from codefleet.domain.workflow.plan import Plan
from codefleet.fleet import Fleet
from codefleet.fleet.archive import Archived
from codefleet.fleet.runs import Heartbeats
from codefleet.fleet.team_tokens import Issued
from codefleet.fleet.waiting import Watched
from codefleet.ports import TaskQuery

LONGEST_WAIT_S = 30.0


class RemoteFleet(Fleet):
    """Everything you can ask of a fleet, over HTTP. The server decides what you may do."""

    def __init__(self, link: Link, home: Path, config: Config) -> None:
        self._link, self._home, self._config = link, home, config
        self.elsewhere = RemoteMachine(link)

    @property
    def actor(self) -> Actor:
        """The human here; the server knows you by your token."""
        return HUMAN

    @property
    def home(self) -> Path:
        return self._home

    @property
    def config(self) -> Config:
        return self._config

    @config.setter
    def config(self, new: Config) -> None:
        self._config = new

    @property
    def host(self) -> str:
        return self._link.url

    def acting_as(self, actor: Actor) -> Self:
        raise only_there("act as somebody else")

    async def permit(self, right: Right, *tasks: Task) -> None:
        """Nothing to decide here."""

    async def permit_reading(self, task: TaskId) -> None:
        """Nothing to decide here."""

    async def asking(self) -> Run | None:
        return None

    def expecting(self, version: int) -> Self:
        return self._with(**{"If-Match": f'"{version}"'})

    async def once(self, key: str, request: bytes) -> tuple[Self, Sequence[str]]:
        return self._with(**{"Idempotency-Key": key}), ()

    async def add(self, drafts: Sequence[Draft]) -> Sequence[Task]:
        said = [writing.said(draft) for draft in drafts]
        added: Sequence[Task] = await self._ask("add", drafts=said)
        return added

    async def list(self, query: TaskQuery) -> Sequence[Task]:
        found: list[Task] = []
        cursor = query.after
        while query.limit is None or len(found) < query.limit:
            left = (
                writing.PAGE if query.limit is None else min(writing.PAGE, query.limit - len(found))
            )
            page: TaskList = await self._ask(
                "list", **writing.asked(query), limit=left, cursor=cursor
            )
            found += page.tasks
            if page.next_cursor is None:
                break
            cursor = TaskId(page.next_cursor)
        return found

    async def edit(self, ref: str, /, **changes: Any) -> Task:
        edited: Task = await self._ask("edit", ref=ref, changes=changes)
        return edited

    async def why(self, tasks: Sequence[Task]) -> Mapping[TaskId, Hold]:
        found: dict[TaskId, Hold] = {}
        for some in writing.pages([task.id for task in tasks]):
            found |= await self._ask("why", ids=some)
        return found

    async def pause(self, ref: str | None = None) -> Task | None:
        held: Task | None = await (self._ask("pause_task", ref=ref) if ref else self._ask("pause"))
        return held

    async def resume(self, ref: str | None = None) -> Task | None:
        held: Task | None = await (
            self._ask("resume_task", ref=ref) if ref else self._ask("resume")
        )
        return held

    async def cost(
        self, *, by: Sequence[str], since: datetime, until: datetime | None = None
    ) -> Sequence[Spent]:
        end = until.isoformat() if until else None
        rows: Sequence[Spent] = await self._ask("cost", by=by, since=since.isoformat(), until=end)
        return rows

    async def search(self, query: str, limit: int = 5) -> Sequence[tuple[float, Task]]:
        found: Sequence[Similar] = await self._ask("search", query=query, limit=limit)
        return [(each.score, each.task) for each in found]

    async def archive(self, *, older_than: timedelta, dry_run: bool = False) -> Archived:
        moved: Archived = await self._ask(
            "archive", older_than=writing.span(older_than), dry_run=dry_run
        )
        return moved

    async def start(self, plan: Plan, repo: str | None = None, team: str | None = None) -> Workflow:
        started: Workflow = await self._ask("start", plan=plan, repo=repo, team=team)
        return started

    async def archive_posts(
        self, swarm: str, *, ids: Sequence[str] = (), older_than: timedelta | None = None
    ) -> Sequence[Post]:
        age = writing.span(older_than) if older_than is not None else None
        moved: Sequence[Post] = await self._ask(
            "archive_posts", swarm=swarm, ids=ids, older_than=age
        )
        return moved

    async def invite(
        self, team: str, role: Role, *, uses: int = 1, ttl: timedelta = timedelta(days=1)
    ) -> tuple[Invite, str]:
        made: Invited = await self._ask(
            "invite", team=team, role=role, uses=uses, ttl=writing.span(ttl)
        )
        return made.invite, made.secret

    async def create_token(
        self, team: str, handle: str, role: Role, *, ttl: timedelta | None = None
    ) -> Issued:
        given = {"team": team, "handle": handle, "role": role, "ttl": ttl and writing.span(ttl)}
        made: IssuedToken = await self._ask("create_token", **given)
        return Issued(made.token, made.text)

    async def spawn(self, handle: str, prompt: str, **fields: Any) -> Task:
        said = {name: value for name, value in fields.items() if value is not None}
        task: Task = await self._ask("spawn", worker={**said, "handle": handle, "prompt": prompt})
        return task

    async def retry_workflow(self, ref: str, budget: Budget | None = None) -> WorkflowStatus:
        retried: WorkflowStatus = await self._ask("retry_workflow", ref=ref, budget=budget)
        return retried

    async def runs_of(self, *tasks: TaskId) -> Sequence[Run]:
        return await self._runs("task", tasks)

    async def find_runs(self, ids: Sequence[RunId]) -> Sequence[Run]:
        return await self._runs("ids", ids)

    async def runs_during(self, since: datetime, until: datetime) -> Sequence[Run]:
        period = {"since": since.isoformat(), "until": until.isoformat()}
        found: Sequence[Run] = await self._ask("runs_during", **period)
        return found

    async def last_runs(self, tasks: Iterable[Task]) -> Mapping[TaskId, Run]:
        runs = await self.runs_of(*(task.id for task in tasks))
        return {run.task: run for run in sorted(runs, key=lambda run: run.number)}

    async def heartbeats(self, runs: Iterable[Run]) -> Heartbeats:
        told: Heartbeats = await self._ask("heartbeats", ids=[run.id for run in runs])
        return told

    async def changed(self, after: int, within: float) -> bool:
        seen: bool = await self._ask("changed", after=after, within=min(within, LONGEST_WAIT_S))
        return seen

    async def watch(self, refs: Sequence[str], within: float) -> AsyncIterator[Watched]:
        end = monotonic() + within
        seen = None
        while seen is None or (not seen.settled and monotonic() < end):
            left = min(max(0.0, end - monotonic()), LONGEST_WAIT_S)
            given = {"refs": refs, "within": left}
            async for line in self._link.lines(BY_NAME["watch"], given):
                seen = Watched.from_json(line)
                yield seen

    async def story(self, *, task: str | None = None, after: int = 0) -> AsyncIterator[Event]:
        async for line in self._link.lines(BY_NAME["story"], {"task": task, "after": after}):
            yield Event.from_json(line)

    async def export(self) -> AsyncIterator[str]:
        async for line in self._link.lines(BY_NAME["export"], {}):
            yield line.decode()

    async def _runs(self, name: str, ids: Sequence[str]) -> Sequence[Run]:
        found: list[Run] = []
        for some in writing.pages(ids):
            found += await self._ask("runs", **{name: some})
        return found

    async def _ask(self, name: str, **given: Any) -> Any:
        return await self._link.ask(BY_NAME[name], given)

    def _with(self, **headers: str) -> Self:
        return type(self)(self._link.with_headers(**headers), self._home, self._config)


def _over_http(operation: Operation) -> Callable[..., Awaitable[Any]]:
    """The method of a remote fleet that asks for an operation, with the verb's own arguments."""
    takes = signature(operation.verb)

    async def verb(self: RemoteFleet, *args: Any, **named: Any) -> Any:
        _, *given = takes.bind(self, *args, **named).arguments.items()
        return await self._link.ask(operation, dict(given))

    verb.__doc__ = operation.verb.__doc__
    return verb


def _inherit() -> None:
    """Every verb that HTTP writes as Python does needs no method of its own."""
    for operation in OPERATIONS:
        if operation.name in vars(RemoteFleet) or not hasattr(Fleet, operation.name):
            continue
        if operation.verb is getattr(Fleet, operation.name) or operation.name in ALIKE:
            setattr(RemoteFleet, operation.name, _over_http(operation))
    for name, what in ONLY_THERE.items():
        setattr(RemoteFleet, name, refused(what))


ALIKE = ("add_checkpoint", "events", "failed_since", "land", "register")
"""Functions with the same arguments as the verb."""
_inherit()


@asynccontextmanager
async def open_remote(url: str, token: str, home: Path, config: Config) -> AsyncIterator[Fleet]:
    """The fleet behind a server's address; a wrong token is refused at once."""
    link = Link(url, token)
    fleet = RemoteFleet(link, home, config)
    try:
        await fleet.now()
        yield fleet
    finally:
        link.close()
