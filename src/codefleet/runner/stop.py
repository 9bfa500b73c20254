"""Why the fleet itself stopped an agent."""

from enum import StrEnum
from typing import NamedTuple


class Cause(StrEnum):
    """Why the fleet itself stopped an agent."""

    CANCELLED = "cancelled"
    LOST = "lost"
    PAUSED = "paused"
    SHUTDOWN = "shutdown"
    TIMEOUT = "timeout"
    STUCK = "stuck"
    BUDGET = "budget"
    DAY = "day"
    ASKED = "asked"
    CONTEXT = "context"
    REFUSED = "refused"


class Stop(NamedTuple):
    cause: Cause
    why: str
