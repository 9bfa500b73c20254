"""Everything that can be read from a store, in statements that every engine names the same."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from codefleet.domain import search
from codefleet.domain.model import Event, Run, RunId, Task, TaskId
from codefleet.domain.noun import Noun, Record
from codefleet.domain.views import Spent
from codefleet.domain.words import State
from codefleet.ports import NO_TEAM, Period, TaskQuery
from codefleet.store import events, nouns

N = TypeVar("N", bound=Noun)
R = TypeVar("R", bound=Record)

BY_URGENCY = ("most_urgent_first", "chosen_by_urgency")
RECORD_FILTERS = {
    "ids": "with_ids",
    "tasks": "of_tasks",
    "of": "of",
    "since": "since",
    "team": "in_team",
    "open_only": "that_are_open",
}


def _filters(query: TaskQuery) -> list[str]:
    """The parts of a statement that exclude what was not asked for."""
    in_order = len(query.states) == 1 and query.ids is None  # otherwise tasks are found by id
    filters = {
        "with_ids": query.ids is not None,
        "with_parents": query.parents is not None,
        "in_state": in_order,
        "in_states": bool(query.states) and not in_order,
        "in_repo": query.repo is not None,
        "with_label": query.label is not None,
        "in_team": bool(query.team),
        "in_no_team": query.team == NO_TEAM,
        "with_handle": query.handle is not None,
        "that_are_workers": query.workers,
        "in_swarm": query.swarm is not None,
        "that_are_ready": query.ready,
        "less_urgent_than": query.after is not None and not query.newest_first,
        "older_than": query.after is not None and query.newest_first,
    }
    return [name for name, is_asked in filters.items() if is_asked]


@cache
def _of_records(record: type[Record], *asked: str) -> tuple[str, ...]:
    """The parts of the statement that reads such records, by what was asked for."""
    table = nouns.kind_of(record).table
    filters = (f"{table}_{RECORD_FILTERS[name]}" for name in asked)
    return (table, *filters, f"{table}_in_order")


def _moment(value: str | datetime) -> datetime:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


class Readings(ABC):
    """The reading half of `codefleet.ports.Store`; an engine provides the rows."""

    @abstractmethod
    async def _rows(self, *names: str, **values: Any) -> list[Any]:
        """All rows of a statement that is joined from these parts.

        Values are plain: a list is a list, a time a datetime, and None means no bound.
        """

    @abstractmethod
    def _now(self) -> datetime | None:
        """The current time, or None if the engine has its own."""

    def _steady(self) -> datetime | None:
        """The time for leases, or None if the engine has its own."""
        return self._now()

    @abstractmethod
    async def _is_indexed(self) -> bool:
        """Is there an index of words?"""

    @staticmethod
    @abstractmethod
    def _sought(word: str, *, whole: bool) -> str:
        """A query to the engine's index of words, for a word or for all that begin with it."""

    async def _nouns(self, noun: type[N], *names: str, **values: Any) -> Sequence[N]:
        return [noun.from_json(body) for (body,) in await self._rows(*names, **values)]

    async def tasks(self, query: TaskQuery) -> Sequence[Task]:
        if query.text:
            return await self._searched(query, search.asked(query.text))
        head = "ready_tasks" if query.ready and not query.newest_first else "tasks"
        return await self._chosen(query, head)

    async def _chosen(self, query: TaskQuery, *heads: str, **values: Any) -> Sequence[Task]:
        """The tasks of a head that pass the filters of a query, in its order."""
        order = ("newest_first", "chosen_by_age") if query.newest_first else BY_URGENCY
        names = (*heads, *_filters(query), *order)
        return await self._nouns(Task, *names, **values, **self._values(query), limit=query.limit)

    def _values(self, query: TaskQuery) -> dict[str, Any]:
        return {
            "ids": list(query.ids or ()),
            "parents": list(query.parents or ()),
            "state": str(query.states[0]) if query.states else None,
            "states": [str(state) for state in query.states],
            "repo": query.repo,
            "label": query.label,
            "after": query.after,
            "team": query.team,
            "handle": query.handle,
            "swarm": query.swarm,
            "now": self._now(),
        }

    async def _searched(self, query: TaskQuery, words: list[str]) -> Sequence[Task]:
        """The tasks that have all the words; `codefleet.store.text_search` explains how."""
        from codefleet.store import text_search  # imported here, because only a search needs it

        if not words:
            return []
        looked: int | None = text_search.FIRST
        while looked:
            look = text_search.Look(await self._look_through(query, words, looked), looked)
            if look.is_enough(query.limit):
                found = [TaskId(name) for name in look.found(query.limit)]
                return await self.tasks(query._replace(text=None, ids=found))
            looked = look.further(query.limit)
        rarest = look.rarest(words)
        led = ("by_rarest",) if await self._is_indexed() else ()
        sought = self._sought(rarest.strip(), whole=rarest.endswith(" "))
        heads = ("found_tasks", *led, "that_fit")
        return await self._chosen(query, *heads, words=words, rarest=sought)

    async def _look_through(self, query: TaskQuery, words: list[str], looked: int) -> list[Any]:
        which = "the_newest" if query.newest_first else "the_most_urgent"
        among = [State.PENDING] if query.ready else query.states or State
        return await self._rows(
            "look_through",
            *_filters(query),
            which,
            **self._values(query),
            words=words,
            among=[str(state) for state in among],
            looked=looked,
        )

    async def unmet(
        self, tasks: Sequence[TaskId], *, team: str | None = None
    ) -> Mapping[TaskId, Sequence[Task]]:
        waits: dict[TaskId, list[Task]] = {task: [] for task in tasks}
        for task, body in await self._rows("unmet", ids=list(tasks), team=team):
            waits[task].append(Task.from_json(body))
        return waits

    async def needed_by(self, task: TaskId, *, team: str | None = None) -> Sequence[TaskId]:
        return [name for (name,) in await self._rows("needed_by", id=task, team=team)]

    async def matching(self, prefix: str, *, team: str | None = None) -> Sequence[TaskId]:
        end = f"{prefix}\U0010ffff"
        found = await self._rows("matching", prefix=prefix, end=end, team=team)
        return [name for (name,) in found]

    async def counts(self, *, team: str | None = None) -> Mapping[str, int]:
        return dict(await self._rows("counts", team=team))

    async def runs(
        self,
        *,
        ids: Sequence[RunId] | None = None,
        tasks: Sequence[TaskId] | None = None,
        live: bool = False,
        during: Period | None = None,
        team: str | None = None,
    ) -> Sequence[Run]:
        filters = {
            "runs_with_ids": ids is not None,
            "runs_of_tasks": tasks is not None,
            "runs_that_live": live,
            "runs_during": during is not None,
            "runs_in_team": team is not None,
        }
        asked = (name for name, is_asked in filters.items() if is_asked)
        given: dict[str, Any] = {"ids": list(ids or ()), "tasks": list(tasks or ()), "team": team}
        given |= during._asdict() if during else {}
        return await self._nouns(Run, "runs", *asked, "oldest_run_first", **given)

    async def spent(
        self,
        *,
        since: datetime,
        until: datetime | None = None,
        by: Sequence[str] = (),
        team: str | None = None,
    ) -> Sequence[Spent]:
        asked = {f"by_{name}": name in by for name in events.BY}
        found = await self._rows("spent", since=since, until=until, team=team, **asked)
        return [events.spent(row) for row in found]

    async def next_start(self) -> datetime | None:
        now, steady = self._now(), self._steady()
        ((rest, lease),) = await self._rows("next_start", now=now, steady=steady)
        due = [_moment(each) for each in (rest, lease) if each]
        if lease and now and steady:
            due[-1] += now - steady
        return min(due, default=None)

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
        is_of_a_team = nouns.kind_of(record).is_of_a_team
        if team and not is_of_a_team:
            return ()
        asked: dict[str, Any] = {}
        if ids is not None:
            asked["ids"] = list(ids)
        if tasks is not None:
            asked["tasks"] = list(tasks)
        if of is not None:
            asked["of"] = list(of)
        if since is not None:
            asked["since"] = since
        if open_only:
            asked["open_only"] = True
        if team is not None and is_of_a_team:
            asked["team"] = team
        return await self._nouns(record, *_of_records(record, *asked), **asked)

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
        team: str | None = None,
    ) -> Sequence[Event]:
        filters = {
            "events_before": before is not None,
            "events_of_task": task is not None,
            "events_of_kinds": bool(kinds),
            "events_in_team": bool(team),
            "events_in_no_team": team == NO_TEAM,
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
            team=team,
        )
        return [events.event(*row) for row in (reversed(found) if newest else found)]

    async def last_seq(self) -> int:
        ((seq,),) = await self._rows("last_seq")
        return int(seq)
