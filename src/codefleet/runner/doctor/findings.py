"""One thing that was checked, and how to fix it."""

from collections.abc import Mapping
from typing import NamedTuple


class Finding(NamedTuple):
    """`mend` is how to fix it, empty if all is well; the fleet needs it fixed only if `must`."""

    what: str
    mend: str = ""
    must: bool = True
    facts: Mapping[str, object] = {}

    @property
    def stops_the_fleet(self) -> bool:
        return bool(self.mend) and self.must
