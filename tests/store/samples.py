"""Small nouns to store, a clock that stands still, and steps that a runner would take."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from codefleet.domain import lifecycle
from codefleet.domain.lifecycle import Claim, Seat, Verb
from codefleet.domain.model import Event, Run, RunnerId, Task, TaskId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.validation import checked
from codefleet.domain.words import Outcome
from codefleet.ports import Store, TaskQuery, Write

LEASE = timedelta(seconds=30)
ANY = ClaimFilter()
START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class StillClock:
    """Time that passes only when a test advances it."""

    def __init__(self) -> None:
        self.moment = START

    def now(self) -> datetime:
        return self.moment

    def advance(self, **by: float) -> None:
        self.moment += timedelta(**by)


class RealClock:
    """For tests with several processes."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def task(name: str, **fields: Any) -> Task:
    given = {"title": f"Do {name}", "repo": "shop", "created_at": START, "updated_at": START}
    return checked(Task, {"id": TaskId(name), **given, **fields})


def event(kind: str = "noted", **fields: Any) -> Event:
    return Event(at=START, kind=kind, **fields)


def seat(agent: str = "claude-1") -> Seat:
    return Seat(agent=agent, runner=RunnerId("runner-1"), host="here", coder="claude")


async def add(store: Store, *tasks: Task) -> None:
    await store.write(Write(tasks=tasks))


async def get(store: Store, name: str) -> Task:
    (found,) = await store.tasks(TaskQuery(ids=[TaskId(name)]))
    return found


async def ids(store: Store, query: TaskQuery) -> list[str]:
    return [found.id for found in await store.tasks(query)]


async def claim(store: Store, want: ClaimFilter = ANY, seats: Sequence[Seat] = ()) -> list[str]:
    """The ids of the claimed tasks."""
    claims = await store.claim(seats or [seat()], want, lease=LEASE)
    return [claimed.task.id for claimed in claims]


async def take(store: Store, want: ClaimFilter = ANY, agent: str = "claude-1") -> Claim:
    """The one claim of one seat."""
    (claimed,) = await store.claim([seat(agent)], want, lease=LEASE)
    return claimed


def ended(claimed: Claim, verb: Verb, outcome: Outcome, **changes: Any) -> Write:
    """The step that ends a run, as its runner writes it."""
    after = lifecycle.move(claimed.task, verb, fence=claimed.task.fence + 1, **changes)
    return Write(
        tasks=[after],
        runs=[lifecycle.end(claimed.run, outcome, START)],
        events=[event(f"task.{after.state}", task=after.id)],
        fences={after.id: claimed.task.fence},
    )


def completed(claimed: Claim) -> Write:
    return ended(claimed, Verb.COMPLETE, Outcome.SUBMITTED)


def renewed(run: Run, until: datetime) -> Write:
    """The step that extends a lease."""
    longer = run.evolve(lease_until=until, version=run.version + 1)
    return Write(runs=[longer], fences={run.task: run.fence})
