"""What went through the server since it started: requests by operation, and sockets."""

from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from codefleet.domain.measures import Buckets

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
UNKNOWN = "unknown"


class Asked(NamedTuple):
    """An operation, named by the table and never by a path that a client made up."""

    method: str
    operation: str


NOWHERE = Asked("other", UNKNOWN)
"""Requests for what does not exist."""


class Traffic:
    """Counts since the start of the server; the fleet itself knows nothing of requests."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[Asked, int]] = Counter()
        self.seconds: defaultdict[Asked, Buckets] = defaultdict(_buckets)
        self.authenticated = self.refused = 0
        self.sockets = self.received = self.sent = 0

    def note(self, asked: Asked, status: int, seconds: float) -> None:
        """Count one answer."""
        self.requests[asked, status] += 1
        self.seconds[asked].add(seconds)

    @property
    def errors(self) -> int:
        """Answers that say the server failed."""
        return sum(many for (_, status), many in self.requests.items() if status >= 500)


_buckets: Callable[[], Buckets] = partial(Buckets, BOUNDS)
