"""What the core needs from outside: a Store and a Clock. Nothing here names a provider."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol, TypeVar

from codefleet.domain.lifecycle import Claim, Seat
from codefleet.domain.model import Draft, Event, Repo, Run, RunId, Task, TaskId
from codefleet.domain.noun import Record
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.views import Spent
from codefleet.domain.words import State

R = TypeVar("R", bound=Record)

NO_TEAM = ""
"""Asked for as a team, it stands for all that belongs to no team."""


class Clock(Protocol):
    """The time of day, injected so that tests can stop it."""

    def now(self) -> datetime: ...


class Uptime(NamedTuple):
    """How long this boot of the machine has been awake; unlike a clock, it cannot be set."""

    boot: str
    seconds: float


class Write(NamedTuple):
    """One atomic step: all of it or nothing.

    Tasks, runs and records carry a `version`. Version 0 is new and must not exist yet; version n
    replaces version n-1 and is refused as Stale if something else is stored. `removed` are records
    to delete, whatever their version. `fences` names tasks that the writer holds: the step is
    refused if a task's stored fence differs.
    """

    tasks: Sequence[Task] = ()
    runs: Sequence[Run] = ()
    records: Sequence[Record] = ()
    removed: Sequence[Record] = ()
    settings: Mapping[str, str | None] = {}
    events: Sequence[Event] = ()
    fences: Mapping[TaskId, int] = {}

    def along_with(self, other: "Write") -> "Write":
        """Both steps as one."""
        return Write(
            tasks=[*self.tasks, *other.tasks],
            runs=[*self.runs, *other.runs],
            records=[*self.records, *other.records],
            removed=[*self.removed, *other.removed],
            settings={**self.settings, **other.settings},
            events=[*self.events, *other.events],
            fences={**self.fences, **other.fences},
        )


class TaskQuery(NamedTuple):
    """Which tasks to read. Empty means "any"; the order is urgency: priority, then age.

    `parents` are the tasks whose agents created them. `workers` are tasks that have a handle, and
    `handle` selects those of one, of whatever team. `text` holds words that a task must all
    contain: see `codefleet.domain.search`. With `after`, only what comes after that task in the
    order, so that a long list can be read in pages.
    """

    ids: Sequence[TaskId] | None = None
    parents: Sequence[TaskId] | None = None
    states: Sequence[State] = ()
    repo: str | None = None
    label: str | None = None
    team: str | None = None
    handle: str | None = None
    workers: bool = False
    swarm: str | None = None
    text: str | None = None
    ready: bool = False
    limit: int | None = None
    newest_first: bool = False
    after: TaskId | None = None


class Period(NamedTuple):
    """From a moment up to another, without it."""

    since: datetime
    until: datetime


class Store(Protocol):
    """Where the fleet's nouns live. `tests/store/` is its specification.

    With a `team`, a reading finds only what belongs to that team, as if there was nothing else;
    with `NO_TEAM`, only what belongs to none.
    """

    async def write(self, step: Write) -> Sequence[Event]:
        """Do all of one step or nothing; return its events with their `seq`."""

    async def claim(
        self, seats: Sequence[Seat], want: ClaimFilter, *, lease: timedelta
    ) -> Sequence[Claim]:
        """Give the most urgent tasks that may start to these seats, each to exactly one caller.

        A task whose run's lease expired may start again. Nothing starts while the setting
        `paused` is set. The events of a claim are appended with it.
        """

    async def now(self) -> datetime:
        """The time of day: it dates events, and decides when a wait is over."""

    async def steady(self) -> datetime:
        """The time for leases and heartbeats. It never jumps on one machine.

        It may differ from the time of day, so only differences are meaningful.
        """

    async def tasks(self, query: TaskQuery) -> Sequence[Task]: ...

    async def unmet(
        self, tasks: Sequence[TaskId], *, team: str | None = None
    ) -> Mapping[TaskId, Sequence[Task]]:
        """For each of these tasks, the needs that are not completed."""

    async def needed_by(self, task: TaskId, *, team: str | None = None) -> Sequence[TaskId]:
        """The tasks that need this one directly."""

    async def matching(self, prefix: str, *, team: str | None = None) -> Sequence[TaskId]:
        """Up to three task ids with this prefix."""

    async def counts(self, *, team: str | None = None) -> Mapping[str, int]:
        """Tasks by state; pending ones that wait for a need count as `blocked`."""

    async def runs(
        self,
        *,
        ids: Sequence[RunId] | None = None,
        tasks: Sequence[TaskId] | None = None,
        live: bool = False,
        during: Period | None = None,
        team: str | None = None,
    ) -> Sequence[Run]: ...

    async def spent(
        self,
        *,
        since: datetime,
        until: datetime | None = None,
        by: Sequence[str] = (),
        team: str | None = None,
    ) -> Sequence[Spent]:
        """What was spent, from the `run.used` events: a row for each value of what is in `by`.

        `by` may name `day`, `coder`, `model`, `repo`, `task` and `source`; empty means the total.
        If nothing was spent, there is no row.
        """

    async def next_start(self) -> datetime | None:
        """When something becomes claimable by time alone: the next end of a rest or lease."""

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
        """The records of a class: by age or, if there are never many, by key.

        `tasks` are those that they belong to, and `of` names what else they do: the swarm of a
        post, the handle that a message is for, the repo of a memory. `since` is for what
        counts from some time on, and `open_only` for what can be dealt with. What is the fleet's,
        such as repos, no team has.
        """

    async def settings(self) -> Mapping[str, str]: ...

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
        """Events in the order of `seq`; with `newest`, the last ones instead of the first.

        A team has the events of its tasks, and those of no task that name it in their data.
        """

    async def forget_events(self, events: Sequence[Event]) -> int:
        """Remove these from the log because they are stored elsewhere; returns how many went.

        Removes only events stored with the same seq, task and kind, of a finished task. Usage
        events and the newest event of all stay, so that bills are complete and `seq` keeps rising.
        """

    async def last_seq(self) -> int: ...

    async def changed(self, after: int, within: float) -> bool:
        """Wait for an event later than seq `after`; False if `within` seconds passed."""

    def export(self, *, moving: bool = False) -> AsyncIterator[tuple[str, str]]:
        """Everything that lasts, as (kind of noun, JSON), in an order that can be read back.

        When `moving` a fleet, also what matters only as long as it works: lanes and rests.
        """

    async def load(self, rows: Sequence[tuple[str, str]]) -> None:
        """Load what `export` yielded, all or nothing, into an empty store."""

    async def erase(self, event: Event) -> None:
        """Delete everything but this event, which reports it; `seq` keeps rising."""

    async def about(self) -> str:
        """The engine and its location, for people; contains no secret."""

    async def close(self) -> None: ...


class DraftChecks(Protocol):
    """What only a machine can say about a draft: its coders, and the commits of its repos."""

    def refuse_unfit(self, draft: Draft, usual: Mapping[str, Mapping[str, object]]) -> None:
        """Refuse a draft whose coder is not installed, or lacks that model or option."""

    async def commit(self, repo: Repo, ref: str) -> str | None:
        """The commit that a ref names in this machine's clone."""

    async def is_on_trunk(self, repo: Repo, commit: str) -> bool:
        """Has this commit landed?"""

    async def refuse_foreign_start(self, repo: Repo, commit: str, parent: Task) -> None:
        """Refuse a commit that is neither on the trunk nor on the branch of `parent`."""
