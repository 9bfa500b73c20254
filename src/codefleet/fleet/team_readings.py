"""What a team can read of a store: only what belongs to it, as if there was nothing else.

What the machines offer to all (repos, runners, rests of accounts) is shown without what they do for
others.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from codefleet.domain.events import KINDS
from codefleet.domain.model import Event, Repo, Rest, Run, RunId, Runner, Task, TaskId, Team
from codefleet.domain.noun import Record
from codefleet.domain.views import Spent
from codefleet.ports import NO_TEAM, Period, Store, TaskQuery

R = TypeVar("R", bound=Record)
FindTeam = Callable[[], Awaitable[str]]

NOBODYS = "?"
"""What no team can be called: under this name, there is nothing to read."""
SHOWN_SETTINGS = ("paused",)


class TeamReadings:
    """The reading half of a team's store, or of what belongs to no team: then it is `NO_TEAM`."""

    def __init__(self, whole: Store, find_team: FindTeam, hidden: Collection[str] = ()) -> None:
        """`hidden` are the kinds of events that are not shown."""
        self._whole = whole
        self._hidden = hidden
        self.team = find_team

    async def tasks(self, query: TaskQuery) -> Sequence[Task]:
        return await self._whole.tasks(query._replace(team=await self._within(query.team)))

    async def unmet(
        self, tasks: Sequence[TaskId], *, team: str | None = None
    ) -> Mapping[TaskId, Sequence[Task]]:
        return await self._whole.unmet(tasks, team=await self._within(team))

    async def needed_by(self, task: TaskId, *, team: str | None = None) -> Sequence[TaskId]:
        return await self._whole.needed_by(task, team=await self._within(team))

    async def matching(self, prefix: str, *, team: str | None = None) -> Sequence[TaskId]:
        return await self._whole.matching(prefix, team=await self._within(team))

    async def counts(self, *, team: str | None = None) -> Mapping[str, int]:
        return await self._whole.counts(team=await self._within(team))

    async def runs(
        self,
        *,
        ids: Sequence[RunId] | None = None,
        tasks: Sequence[TaskId] | None = None,
        live: bool = False,
        during: Period | None = None,
        team: str | None = None,
    ) -> Sequence[Run]:
        team = await self._within(team)
        return await self._whole.runs(ids=ids, tasks=tasks, live=live, during=during, team=team)

    async def spent(
        self,
        *,
        since: datetime,
        until: datetime | None = None,
        by: Sequence[str] = (),
        team: str | None = None,
    ) -> Sequence[Spent]:
        team = await self._within(team)
        return await self._whole.spent(since=since, until=until, by=by, team=team)

    async def records(
        self,
        record: type[R],
        *,
        ids: Sequence[str] | None = None,
        tasks: Sequence[TaskId] | None = None,
        of: Sequence[str] | None = None,
        since: datetime | None = None,
        open_only: bool = False,
        team: str | None = None,
    ) -> Sequence[R]:
        asked: dict[str, Any] = {
            "ids": ids,
            "tasks": tasks,
            "of": of,
            "since": since,
            "open_only": open_only,
        }
        team = await self._within(team)
        if record is Rest:
            return await self._whole.records(record, **asked)
        found: Any
        if record is Repo:
            found = await self._repos(team, **asked)
        elif record is Runner:
            found = await self._runners(team, **asked)
        else:
            found = await self._whole.records(record, **asked, team=team)
        narrowed: Sequence[R] = found
        return narrowed

    async def settings(self) -> Mapping[str, str]:
        found = await self._whole.settings()
        return {name: value for name, value in found.items() if name in SHOWN_SETTINGS}

    async def events(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        task: TaskId | None = None,
        kinds: Sequence[str] = (),
        limit: int = 1000,
        newest: bool = False,
        team: str | None = None,
    ) -> Sequence[Event]:
        shown = [kind for kind in kinds or KINDS if kind not in self._hidden]
        if not shown:
            return ()
        return await self._whole.events(
            after=after,
            before=before,
            task=task,
            kinds=shown if self._hidden else kinds,
            limit=limit,
            newest=newest,
            team=await self._within(team),
        )

    async def shown(self, events: Sequence[Event]) -> Sequence[Event]:
        """Those of these events of tasks that are shown, for what was read elsewhere."""
        ids = sorted({each.task for each in events if each.task})
        own = {task.id for task in await self.tasks(TaskQuery(ids=ids))}
        return [each for each in events if each.task in own and each.kind not in self._hidden]

    async def _within(self, asked: str | None) -> str:
        """The team to read for: our own, whoever asks for another gets nothing."""
        team = await self.team()
        return team if asked in (None, team) else NOBODYS

    async def _repos(self, team: str, **asked: Any) -> Sequence[Repo]:
        repos = await self._whole.records(Repo, **asked)
        if team == NO_TEAM:
            return repos
        own = await self._whole.records(Team, ids=[team])
        return [repo for repo in repos if own and own[0].may_use(repo.name)]

    async def _runners(self, team: str, **asked: Any) -> Sequence[Runner]:
        """The runners without the seats that work for others."""
        mine = await self._whole.runs(live=True, team=team)
        others = set(_seats(await self._whole.runs(live=True))) - set(_seats(mine))
        repos = {repo.name for repo in await self._repos(team)}
        return [
            runner.evolve(
                seats=tuple(name for name in runner.seats if (runner.id, name) not in others),
                away=tuple(each for each in runner.away if each.repo in repos),
            )
            for runner in await self._whole.records(Runner, **asked)
        ]


def _seats(runs: Sequence[Run]) -> list[tuple[str, str]]:
    return [(run.runner, run.agent) for run in runs]
