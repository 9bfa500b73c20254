"""Claiming: which tasks go to which seats, decided and stored inside one transaction."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from codefleet.domain import lifecycle, scheduling
from codefleet.domain.caps import NO_CAPS, AtWork, Room
from codefleet.domain.lifecycle import Claim, Seat
from codefleet.domain.model import Run, Task, TaskId
from codefleet.domain.noun import instant
from codefleet.domain.scheduling import Want
from codefleet.store import checks
from codefleet.store.sqlite import rows, steps, tasks
from codefleet.store.sqlite.database import Database, Values

FILTERS = {
    "seats": "for_seats",
    "coders": "for_coders",
    "repos": "for_repos",
    "labels": "for_labels",
    "tasks": "for_tasks",
    "resting": "unless_resting",
}
NO_LIMIT = -1


class Times(NamedTuple):
    """The time of day, the time for leases, and how long a lease is."""

    now: datetime
    steady: datetime
    lease: timedelta

    @property
    def values(self) -> Values:
        return {"now": instant(self.now), "steady": instant(self.steady)}


def claim(database: Database, seats: Sequence[Seat], want: Want, times: Times) -> Sequence[Claim]:
    """Give the most urgent tasks that may start to these seats."""
    if not seats:
        return ()
    room = _room(database, seats, want, times)
    if not room.seats:
        return ()
    choice = _Choice(database, room, seats, want, times)
    until = times.steady + times.lease
    return [
        _stored(database, lifecycle.claim(task, seat, times.now, until, choice.lost.get(task.id)))
        for task, seat in choice.made()
    ]


def _room(database: Database, seats: Sequence[Seat], want: Want, times: Times) -> Room:
    """The places that the caps leave to the seats."""
    if want.caps is None:
        return Room(NO_CAPS, (), seats)
    at_work = database.run("at_work", times.values)
    return Room(want.caps, [AtWork(*row) for row in at_work], seats)


@lru_cache(maxsize=256)
def _asked(agents: tuple[str, ...], want: Want) -> tuple[Sequence[tuple[str, ...]], Values]:
    """The statements that read the candidates, by the names of their parts, and their values."""
    lists = {
        "seats": agents,
        "coders": want.coders,
        "repos": want.repos,
        "labels": want.labels,
        "tasks": want.tasks,
        "resting": tuple(" ".join(pair) for pair in want.resting),
    }
    asked = {name: rows.listed(values) for name, values in lists.items() if values}
    filters = ["unless_paused", *(FILTERS[name] for name in asked)]
    heads = ["expired", "ready"]
    if want.tasks:
        heads = ["expired", "ready_among"]
    if want.caps:
        filters.append("unless_full")
    statements = [(head, *filters, "most_urgent_first") for head in heads]
    return statements, asked


class _Choice:
    """Tasks for seats: candidates are read one by one, only as long as seats are left."""

    def __init__(
        self, database: Database, room: Room, seats: Sequence[Seat], want: Want, times: Times
    ) -> None:
        self.lost: dict[TaskId, Run] = {}
        self._database = database
        self._room = room
        self._free = {seat.agent: seat for seat in seats}
        self._now = times.now
        self._statements, values = _asked(tuple(self._free), want)
        self._values = {**values, **times.values}
        if want.caps:
            self._values |= self._places()

    def made(self) -> list[tuple[Task, Seat]]:
        """Assigned tasks take their seats while choosing; the others share what is left."""
        chosen: list[Task] = []
        assigned: dict[str, Seat] = {}
        seats = min(self._room.seats, len(self._free))
        candidates = self._candidates(seats)
        for task in scheduling.decide(candidates, self._busy(), seats=seats, now=self._now):
            chosen.append(task)
            self._room.take(task)
            if task.assignee:
                assigned[task.id] = self._free.pop(task.assignee)
            if len(chosen) == seats:
                break  # before reading another candidate in vain
        candidates.close()
        left = iter(self._free.values())
        return [(task, assigned.get(task.id) or next(left)) for task in chosen]

    def _busy(self) -> Iterator[Task]:
        for row in self._database.run("busy", self._values):
            yield rows.task(*row)

    def _candidates(self, seats: int) -> Generator[Task, None, None]:
        expired, ready = self._statements
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
                    if not self._has_place(task):
                        self._values |= self._places()
                        break
                    seen.add(task.id)
                    if lost:
                        self.lost[task.id] = Run.from_json(lost)
                    yield task
                else:
                    if limit == NO_LIMIT or len(seen) < limit:
                        return
            limit = NO_LIMIT

    def _has_place(self, task: Task) -> bool:
        is_seat_free = not task.assignee or task.assignee in self._free
        return is_seat_free and self._room.has_place(task)

    def _places(self) -> Values:
        """The seats that are still free, and what is full."""
        return {
            "seats": rows.listed(self._free),
            "coder": self._room.coder,
            "full_repos": rows.listed(self._room.full_repos),
            "full_coders": rows.listed(self._room.full_coders),
        }


def _stored(database: Database, claim: Claim) -> Claim:
    if not tasks.replaced(database, claim.task):
        raise checks.stale("task", claim.task.id)
    if claim.lost:
        steps.put_run(database, claim.lost)
    steps.put_run(database, claim.run)
    return Claim(claim.task, claim.run, claim.lost, tuple(steps.append(database, claim.events)))
