"""One measurement: ours next to the raw baseline, in the same run."""

from typing import NamedTuple


class Row(NamedTuple):
    name: str
    ours: float
    raw: float
    unit: str
    goal: float | None
