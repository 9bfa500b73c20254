"""Claiming: which tasks go to which seats, decided and stored inside one transaction.

Candidates are locked as they are read, and skipped if another holds them: nobody waits, and no task
is given twice. Only claims of tasks with scopes, or under caps, take turns.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from codefleet.domain import lifecycle, scheduling
from codefleet.domain.caps import NO_CAPS, AtWork, Room
from codefleet.domain.lifecycle import Claim, Seat
from codefleet.domain.model import Run, Task, TaskId
from codefleet.domain.scheduling import Want
from codefleet.store.postgres import steps, tasks
from codefleet.store.postgres.connection import Reply
from codefleet.store.postgres.steps import Answer
from codefleet.store.postgres.transaction import Told, Transaction

_FILTERS = {
    "coders": "for_coders",
    "repos": "for_repos",
    "labels": "for_labels",
    "tasks": "for_tasks",
    "resting": "unless_resting",
}

Rows = Sequence[tuple[Any, ...]]


class Asked(NamedTuple):
    """A requested claim; `now` is a test's time, or None."""

    seats: Sequence[Seat]
    want: Want
    lease: timedelta
    now: datetime | None

    def goes_with(self, other: "Asked") -> bool:
        """Do both ask for the same, for different seats? Then one read serves both.

        Under caps, each is counted separately.
        """
        if self.want.caps:
            return False
        apart = {seat.agent for seat in self.seats}.isdisjoint(seat.agent for seat in other.seats)
        return apart and (self.want, self.lease) == (other.want, other.lease)


async def claim(tx: Transaction, asked: Sequence[Asked]) -> list[Answer]:
    """Give the most urgent tasks that may start to the seats of all who ask."""
    answers: dict[int, Answer] = {}
    left = list(enumerate(asked))
    while left:
        first = left[0][1]
        together = [left[0]]
        for number, other in left[1:]:
            if all(other.goes_with(one) for _, one in together):
                together.append((number, other))
        left = [one for one in left if one not in together]
        seats = [seat for _, one in together for seat in one.seats]
        claims, told = await _claimed(tx, first._replace(seats=seats))
        answers.update((number, _answer(one, claims, told)) for number, one in together)
    return [answers[number] for number in range(len(asked))]


async def _claimed(tx: Transaction, asked: Asked) -> tuple[Sequence[Claim], Sequence[Told]]:
    room = await _room(tx, asked)
    if not room.seats:
        return (), ()
    choice = _Choice(tx, room, asked.seats, asked.want)
    given = await choice.made(asked.now)
    claims = [
        lifecycle.claim(task, seat, choice.now, choice.now + asked.lease, choice.lost.get(task.id))
        for task, seat in given
    ]
    return claims, await _stored(tx, claims) if claims else ()


async def _room(tx: Transaction, asked: Asked) -> Room:
    """The places that the caps leave to the seats; under caps, one claim at a time."""
    if asked.want.caps is None:
        return Room(NO_CAPS, (), asked.seats)
    tx.run("lock_scopes")
    at_work = await tx.rows("at_work", now=asked.now)
    return Room(asked.want.caps, [AtWork(*row) for row in at_work], asked.seats)


def _answer(asked: Asked, claims: Sequence[Claim], told: Sequence[Told]) -> Answer:
    """The claims for the seats of one of several who asked together."""
    agents = {seat.agent for seat in asked.seats}
    mine = [pair for pair in zip(claims, told, strict=True) if pair[0].run.agent in agents]
    if not mine:
        return steps.nothing

    def answer(first: int) -> Sequence[Claim]:
        return [one._replace(events=tuple(its.numbered(first))) for one, its in mine]

    return answer


async def _stored(tx: Transaction, claims: Sequence[Claim]) -> list[Told]:
    tasks.replace(tx, [one.task for one in claims])
    runs = [run for one in claims for run in (one.lost, one.run) if run]
    await steps.put_runs(tx, runs)
    return [tx.tell(one.events) for one in claims]


class _Head(NamedTuple):
    """The beginning of a query for candidates, and how they are locked."""

    name: str
    hold: str


_EXPIRED = _Head("expired", "hold_both")


class _Choice:
    """Tasks for seats: read and locked in small numbers, only as long as seats are left."""

    now: datetime

    def __init__(self, tx: Transaction, room: Room, seats: Sequence[Seat], want: Want) -> None:
        self.lost: dict[TaskId, Run] = {}
        self._tx = tx
        self._room = room
        self._free = {seat.agent: seat for seat in seats}
        self._seats = min(room.seats, len(self._free))
        self._chosen: list[Task] = []
        self._assigned: dict[str, Seat] = {}
        self._busy: list[Task] | None = None
        self._seen: set[str] = set()
        self._values: dict[str, Any] = {
            "coders": list(want.coders),
            "repos": list(want.repos),
            "labels": list(want.labels),
            "resting": [" ".join(pair) for pair in want.resting],
            "tasks": list(want.tasks),
            "coder": room.coder,
        }
        self._filters = [name for value, name in _FILTERS.items() if self._values[value]]
        self._filters += ["unless_full"] if want.caps else []
        self._ready = _Head("ready_among" if want.tasks else "ready", "hold_task")

    async def made(self, now: datetime | None) -> list[tuple[Task, Seat]]:
        """Assigned tasks take their seats while choosing; the others share what is left."""
        self._values["now"] = now
        asked = self._tx.run("some_expired", now=now)
        ready = self._some(self._ready, self._seats)
        ((self.now, some_expired),) = await asked.rows()
        self._values["now"] = self.now
        if some_expired:
            expired = self._some(_EXPIRED, self._seats)
            await self._choose(_EXPIRED, await expired.rows())
        await self._choose(self._ready, await ready.rows())
        left = iter(self._free.values())
        return [(task, self._assigned.get(task.id) or next(left)) for task in self._chosen]

    async def _choose(self, head: "_Head", found: Rows) -> None:
        """Choose from these rows, then from more and more, until seats or rows run out."""
        asked = self._seats
        while True:
            await self._take(found)
            if len(self._chosen) == self._seats or len(found) < asked:
                return
            asked *= 2
            found = await self._some(head, asked, after=found[-1]).rows()

    def _some(self, head: "_Head", limit: int, after: Sequence[Any] = ()) -> Reply:
        """The next candidates, except those for which caps and seats leave no place now."""
        names = [head.name, "unless_paused", "for_seats", *self._filters]
        values = {**self._values, "limit": limit, "seats": list(self._free)}
        values["full_repos"] = self._room.full_repos
        values["full_coders"] = self._room.full_coders
        if after:
            names.append("after_those")
            *_, values["priority"], values["place"] = after
        return self._tx.run(*names, "most_urgent_first", head.hold, **values)

    async def _take(self, found: Rows) -> None:
        read = [(Task.from_json(body), lost) for body, lost, *_ in found]
        # A task whose priority was just changed may come twice.
        candidates = [(task, lost) for task, lost in read if task.id not in self._seen]
        self._seen.update(task.id for task, _ in candidates)
        if self._busy is None and any(task.scope for task, _ in candidates):
            self._tx.run("lock_scopes")
            busy = await self._tx.rows("busy", now=self.now)
            self._busy = [Task.from_json(body) for (body,) in busy]
        left = self._seats - len(self._chosen)
        busy_now = [*(self._busy or ()), *self._chosen]
        free = self._still_free(candidates)
        for task in scheduling.decide(free, busy_now, seats=left, now=self.now):
            self._chosen.append(task)
            self._room.take(task)
            if task.assignee:
                self._assigned[task.id] = self._free.pop(task.assignee)

    def _still_free(self, candidates: Sequence[tuple[Task, str | None]]) -> Iterator[Task]:
        for task, lost in candidates:
            if task.assignee and task.assignee not in self._free:
                continue  # its seat has just got another task
            if not self._room.has_place(task):
                continue
            if lost:
                self.lost[task.id] = Run.from_json(lost)
            yield task
