"""Claiming: which tasks go to which seats, decided and stored inside one transaction."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from codefleet.domain.caps import NO_CAPS, AtWork, Room
from codefleet.domain.lifecycle import Claim, Seat
from codefleet.domain.model import Run, Task, TaskId
from codefleet.domain.noun import instant
from codefleet.domain.scheduling import ClaimFilter
from codefleet.store import checks, claim_choice
from codefleet.store.claim_choice import Choice
from codefleet.store.sqlite import rows, steps, tasks
from codefleet.store.sqlite.database import Database, Values

NO_LIMIT = -1


class Times(NamedTuple):
    """The time of day, the time for leases, and how long a lease is."""

    now: datetime
    steady: datetime
    lease: timedelta

    @property
    def values(self) -> Values:
        return {"now": instant(self.now), "steady": instant(self.steady)}


def claim(
    database: Database, seats: Sequence[Seat], want: ClaimFilter, times: Times
) -> Sequence[Claim]:
    """Give the most urgent tasks that may start to these seats."""
    if not seats:
        return ()
    room = _room(database, seats, want, times)
    if not room.seats:
        return ()
    chosen = Choice(room, seats)
    candidates = _Candidates(database, chosen, want, times)
    with closing(candidates.read()) as found:
        chosen.take(found, candidates.busy(), times.now)
    claims = chosen.claims(times.now, times.steady + times.lease)
    return [_stored(database, one) for one in claims]


def _room(database: Database, seats: Sequence[Seat], want: ClaimFilter, times: Times) -> Room:
    """The places that the caps, and the swarms, leave to the seats."""
    swarms = dict(database.run("swarm_places", times.values))
    if want.caps is None:
        return Room(NO_CAPS, (), seats, swarms)
    at_work = database.run("at_work", times.values)
    return Room(want.caps, [AtWork(*row) for row in at_work], seats, swarms)


@lru_cache(maxsize=256)
def _asked(agents: tuple[str, ...], want: ClaimFilter) -> tuple[Sequence[tuple[str, ...]], Values]:
    """The statements that read the candidates, by the names of their parts, and their values."""
    lists = {**claim_choice.asked(want), "seats": agents}
    filters = claim_choice.filters(want)
    statements = [
        (head, *filters, "most_urgent_first") for head in ("expired", claim_choice.ready(want))
    ]
    return statements, {name: rows.listed(values) for name, values in lists.items() if values}


class _Candidates:
    """What may start: read one by one, only as long as seats are left."""

    def __init__(self, database: Database, chosen: Choice, want: ClaimFilter, times: Times) -> None:
        self._database = database
        self._chosen = chosen
        self._statements, values = _asked(chosen.agents, want)
        self._values = {**values, **times.values, **self._places()}

    def busy(self) -> Iterator[Task]:
        """What holds files; read only if a candidate has a scope."""
        for row in self._database.run("busy", self._values):
            yield rows.task(*row)

    def read(self) -> Generator[Task, None, None]:
        """Those whose leases expired come first."""
        expired, ready = self._statements
        seats = self._chosen.left
        if self._database.run("some_expired", self._values).fetchone():
            yield from self._read(expired, seats)
        yield from self._read(ready, seats)

    def _read(self, names: tuple[str, ...], limit: int) -> Iterator[Task]:
        """Candidates in order, at first only as many as may start: mostly they do.

        If there is no place for one, there may be none for thousands after it, so from then on the
        database excludes those.
        """
        seen: set[TaskId] = set()
        while True:
            values = {**self._values, "limit": limit}
            # Closed, because a statement left open would see the changes made below.
            with closing(self._database.run_joined(names, values)) as found:
                for body, lost in found:
                    task = rows.task(body)
                    if task.id in seen:
                        continue
                    if not self._chosen.has_place(task):
                        self._values |= self._places()
                        break
                    seen.add(task.id)
                    if lost:
                        self._chosen.lost[task.id] = Run.from_json(lost)
                    yield task
                else:
                    if limit == NO_LIMIT or len(seen) < limit:
                        return
            limit = NO_LIMIT

    def _places(self) -> Values:
        """The seats that are still free, and what is full."""
        return {name: rows.plain(value) for name, value in self._chosen.places.items()}


def _stored(database: Database, claim: Claim) -> Claim:
    if not tasks.replaced(database, claim.task):
        raise checks.stale("task", claim.task.id)
    if claim.lost:
        steps.put_run(database, claim.lost)
    steps.put_run(database, claim.run)
    return Claim(claim.task, claim.run, claim.lost, tuple(steps.append(database, claim.events)))
