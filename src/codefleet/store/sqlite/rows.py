"""Nouns to rows and back. A task's needs are edges of their own, so its body does without them."""

from collections.abc import Iterable
from datetime import UTC, datetime

from pydantic_core import to_json

from codefleet.domain.model import Event, Spent, Task, Usage

_NEEDS = {"needs"}
_SEQ = {"seq"}
_SUMS = tuple(Usage.model_fields)
_BY = tuple(name for name in Spent.model_fields if name != "usage")
END_OF_TIME = "9999"


def task_body(task: Task) -> str:
    """A task as its row keeps it."""
    # To leave out a field doubles the cost, so only what is there is left out.
    return task.model_dump_json(exclude=_NEEDS if task.needs else None)


def task_json(body: str, needs: str) -> str:
    """A task as JSON, from its body and the JSON list of its needs."""
    return body if needs == "[]" else f'{body[:-1]},"needs":{needs}}}'


def task(body: str, needs: str) -> Task:
    """A task as it was given to the store."""
    return Task.model_validate_json(task_json(body, needs))


def event_body(event: Event) -> str:
    """An event as its row keeps it: the seq is the row's key."""
    return event.model_dump_json(exclude=_SEQ)


def event_json(seq: int, body: str) -> str:
    """An event as JSON, with the seq that the store gave it."""
    return f'{{"seq":{seq},{body[1:]}'


def event(seq: int, body: str) -> Event:
    """An event with the seq that the store gave it."""
    return Event.model_validate_json(event_json(seq, body))


def listed(values: Iterable[str]) -> str:
    """A list as one parameter, for `json_each`."""
    return to_json(list(values)).decode()


def instant(moment: datetime) -> str:
    """A moment as the bodies write it, so that texts compare like moments."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def spent(*row: str | float) -> Spent:
    """A row of a bill: first what it is by, then the sums."""
    by = dict(zip(_BY, row, strict=False))
    return Spent(**by, usage=Usage(**dict(zip(_SUMS, row[len(_BY) :], strict=True))))
