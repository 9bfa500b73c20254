"""One measurement: ours beside the raw thing it stands on, in the same run."""

from typing import NamedTuple


class Row(NamedTuple):
    name: str
    ours: float
    raw: float
    unit: str
    goal: float | None
