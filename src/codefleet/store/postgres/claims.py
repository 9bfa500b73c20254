"""Claiming: which tasks go to which seats, decided and stored inside one transaction.

Candidates are locked as they are read, and skipped if another holds them: nobody waits, and no task
is given twice. Only claims of tasks with scopes or in swarms, or under caps, take turns.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from codefleet.domain.caps import NO_CAPS, AtWork, Room
from codefleet.domain.lifecycle import Claim, Seat
from codefleet.domain.model import Run, Task
from codefleet.domain.scheduling import ClaimFilter
from codefleet.store import claim_choice
from codefleet.store.claim_choice import Choice
from codefleet.store.postgres import steps, tasks
from codefleet.store.postgres.connection import Reply
from codefleet.store.postgres.steps import Answer
from codefleet.store.postgres.transaction import Told, Transaction

Rows = Sequence[tuple[Any, ...]]


class Asked(NamedTuple):
    """A requested claim; `now` is a test's time, or None."""

    seats: Sequence[Seat]
    want: ClaimFilter
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
    chosen = Choice(room, asked.seats)
    now = await _Candidates(tx, chosen, asked.want).take(asked.now)
    claims = chosen.claims(now, now + asked.lease)
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


class _Candidates:
    """What may start: read and locked in small numbers, only as long as seats are left."""

    def __init__(self, tx: Transaction, chosen: Choice, want: ClaimFilter) -> None:
        self._tx = tx
        self._chosen = chosen
        self._seats = chosen.left
        self._busy: list[Task] | None = None
        self._has_counted = False
        self._seen: set[str] = set()
        self._values: dict[str, Any] = dict(claim_choice.asked(want))
        self._filters = claim_choice.filters(want)
        self._ready = _Head(claim_choice.ready(want), "hold_task")

    async def take(self, now: datetime | None) -> datetime:
        """Choose as long as there are seats; returns the time, which may be the server's."""
        self._values["now"] = now
        asked = self._tx.run("some_expired", now=now)
        ready = self._some(self._ready, self._seats)
        ((moment, some_expired),) = await asked.rows()
        self._values["now"] = moment
        if some_expired:
            expired = self._some(_EXPIRED, self._seats)
            await self._take_from(_EXPIRED, await expired.rows(), moment)
        await self._take_from(self._ready, await ready.rows(), moment)
        taken_at: datetime = moment
        return taken_at

    async def _take_from(self, head: _Head, found: Rows, now: datetime) -> None:
        """Choose from these rows, then from more and more, until seats or rows run out."""
        asked = self._seats
        while True:
            candidates = self._new(found)
            await self._look_for_busy(candidates, now)
            await self._count_swarms(candidates, now)
            self._chosen.take(self._fitting(candidates), self._busy or (), now)
            if not self._chosen.left or len(found) < asked:
                return
            asked *= 2
            found = await self._some(head, asked, after=found[-1]).rows()

    def _some(self, head: _Head, limit: int, after: Sequence[Any] = ()) -> Reply:
        """The next candidates, except those for which caps and seats leave no place now."""
        names = [head.name, *self._filters]
        values = {**self._values, **self._chosen.places, "limit": limit}
        if after:
            names.append("after_those")
            *_, values["priority"], values["place"] = after
        return self._tx.run(*names, "most_urgent_first", head.hold, **values)

    def _new(self, found: Rows) -> list[tuple[Task, str | None]]:
        """The tasks with their lost runs. One whose priority was just changed may come twice."""
        read = [(Task.from_json(body), lost) for body, lost, *_ in found]
        new = [(task, lost) for task, lost in read if task.id not in self._seen]
        self._seen.update(task.id for task, _ in new)
        return new

    async def _look_for_busy(
        self, candidates: Sequence[tuple[Task, str | None]], now: datetime
    ) -> None:
        """Read what holds files, once a candidate has a scope."""
        if self._busy is None and any(task.scope for task, _ in candidates):
            self._tx.run("lock_scopes")
            busy = await self._tx.rows("busy", now=now)
            self._busy = [Task.from_json(body) for (body,) in busy]

    async def _count_swarms(
        self, candidates: Sequence[tuple[Task, str | None]], now: datetime
    ) -> None:
        """Count the places of swarms, once a candidate is in one."""
        if not self._has_counted and any(task.swarm for task, _ in candidates):
            self._tx.run("lock_scopes")
            self._chosen.count_swarms(await self._tx.rows("swarm_places", now=now))
            self._has_counted = True

    def _fitting(self, candidates: Sequence[tuple[Task, str | None]]) -> Iterator[Task]:
        """Those whose seat, and a place under the caps, is still free."""
        for task, lost in candidates:
            if not self._chosen.has_place(task):
                continue
            if lost:
                self._chosen.lost[task.id] = Run.from_json(lost)
            yield task
