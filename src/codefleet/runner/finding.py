"""One thing that was looked at, and what to do about it."""

from collections.abc import Mapping
from typing import NamedTuple


class Finding(NamedTuple):
    """`mend` is empty when all is well; the fleet works without it unless it is a `must`."""

    what: str
    mend: str = ""
    must: bool = True
    facts: Mapping[str, object] = {}

    @property
    def stops_the_fleet(self) -> bool:
        return bool(self.mend) and self.must
