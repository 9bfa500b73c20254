"""Events and bills from what every engine stores the same way: a body, and numbers next to it."""

from collections.abc import Sequence
from typing import Any

from codefleet.domain.model import Event, Usage
from codefleet.domain.views import Spent

BY = tuple(name for name in Spent.__struct_fields__ if name != "usage")
_SUMS = tuple(Usage.__struct_fields__)


def event_body(event: Event) -> str:
    """An event as JSON without its seq, its first field, which is the row's key."""
    return "{" + event.json().partition(",")[2]


def event_json(seq: int, body: str) -> str:
    """An event as JSON, with the seq that the store assigned."""
    return f'{{"seq":{seq},{body[1:]}'


def event(seq: int, body: str) -> Event:
    """An event with the seq that the store assigned."""
    return Event.from_json(event_json(seq, body))


def spent(row: Sequence[Any]) -> Spent:
    """A row of a bill: first what it is grouped by, then the sums."""
    by = dict(zip(BY, row, strict=False))
    return Spent(**by, usage=Usage(**dict(zip(_SUMS, row[len(BY) :], strict=True))))
