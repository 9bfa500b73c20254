"""Which candidates go to which seats. The rule is the same for every engine; engines read the
candidates, in their own ways."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from codefleet.domain import lifecycle, scheduling
from codefleet.domain.caps import Room
from codefleet.domain.lifecycle import Claim, Seat
from codefleet.domain.model import Run, Task, TaskId
from codefleet.domain.scheduling import ClaimFilter

_FILTERS = {
    "coders": "for_coders",
    "repos": "for_repos",
    "labels": "for_labels",
    "tasks": "for_tasks",
    "resting": "unless_resting",
}


def asked(want: ClaimFilter) -> dict[str, list[str]]:
    """What a runner asks for, as the values of the filters."""
    return {
        "coders": list(want.coders),
        "repos": list(want.repos),
        "labels": list(want.labels),
        "tasks": list(want.tasks),
        "resting": [" ".join(pair) for pair in want.resting],
    }


def filters(want: ClaimFilter) -> list[str]:
    """The parts of a statement that exclude candidates that were not asked for."""
    names = [_FILTERS[name] for name, values in asked(want).items() if values]
    capped = ["unless_full"] if want.caps else []
    return ["unless_paused", "for_seats", "unless_swarm_is_full", *names, *capped]


def ready(want: ClaimFilter) -> str:
    """The head of the statement for candidates that no run holds."""
    return "ready_among" if want.tasks else "ready"


class Choice:
    """Tasks for seats: each task takes a seat and the places that caps leave."""

    def __init__(self, room: Room, seats: Sequence[Seat]) -> None:
        self.lost: dict[TaskId, Run] = {}
        """The runs whose leases expired, of candidates that had one."""
        self._room = room
        self._free = {seat.agent: seat for seat in seats}
        self._most = min(room.seats, len(self._free))
        self._chosen: list[Task] = []
        self._assigned: dict[TaskId, Seat] = {}

    @property
    def left(self) -> int:
        """How many more tasks may start."""
        return self._most - len(self._chosen)

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the seats that are still free."""
        return tuple(self._free)

    @property
    def places(self) -> dict[str, Any]:
        """The seats that are still free, and what is full, as the values of the filters."""
        return {
            "seats": list(self.agents),
            "coder": self._room.coder,
            "full_repos": self._room.full_repos,
            "full_coders": self._room.full_coders,
            "open_swarms": self._room.open_swarms,
        }

    def count_swarms(self, places: Iterable[tuple[str, int]]) -> None:
        """Learn how many more agents each swarm may have at work."""
        self._room.swarms = dict(places)

    def has_place(self, task: Task) -> bool:
        """Is its seat free, and is nothing full that it would use?"""
        is_seat_free = not task.assignee or task.assignee in self._free
        return is_seat_free and self._room.has_place(task)

    def take(self, candidates: Iterable[Task], busy: Iterable[Task], now: datetime) -> None:
        """Choose from these, most urgent first; none is read in vain."""
        if not self.left:
            return
        running = chain(busy, tuple(self._chosen))
        for task in scheduling.decide(candidates, running, seats=self.left, now=now):
            self._chosen.append(task)
            self._room.take(task)
            if task.assignee:
                self._assigned[task.id] = self._free.pop(task.assignee)
            if not self.left:
                return

    def claims(self, now: datetime, lease_until: datetime) -> list[Claim]:
        """What was chosen: assigned tasks have their seats, and the others share the rest."""
        free = iter(self._free.values())
        return [
            lifecycle.claim(
                task,
                self._assigned.get(task.id) or next(free),
                now,
                lease_until,
                self.lost.get(task.id),
            )
            for task in self._chosen
        ]
