"""What the first tasks in their order show about a search, the same for every engine.

A word that many tasks have is found soon by reading one task after another; a rare word is found by
the index of words. How many of the first tasks have the words shows which case it is. So neither a
word in all tasks nor one in a single task takes longer if there are more tasks.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

FIRST, MOST = 1000, 10_000
"""How many tasks to read first, and at most if these look promising."""


class Seen(NamedTuple):
    """A task that was read: which of the words it has, as a text of 0 and 1, and whether it passes
    the filters."""

    id: str
    has: str | None
    fits: bool

    @property
    def is_found(self) -> bool:
        return bool(self.fits and self.has and "0" not in self.has)


class Look:
    """The first tasks in the order of a search."""

    def __init__(self, rows: Iterable[tuple[str, str | None, bool]], looked: int) -> None:
        self._seen = [Seen(*row) for row in rows]
        self._found = [each.id for each in self._seen if each.is_found]
        self._is_all = len(self._seen) < looked

    def is_enough(self, limit: int | None) -> bool:
        """Were these all, or as many as wanted?"""
        return self._is_all or (limit is not None and len(self._found) >= limit)

    def further(self, limit: int | None) -> int | None:
        """How many to read next, to find as many as wanted with some to spare; None if they would
        be too many."""
        if limit is None or not self._found:
            return None
        needed = 2 * limit * len(self._seen) // len(self._found)
        return needed if needed <= MOST else None

    def found(self, limit: int | None) -> list[str]:
        """The ids of the first ones that have all the words and pass the filters."""
        return self._found[:limit]

    def rarest(self, words: Sequence[str]) -> str:
        """The word that the fewest have; of two such, the longer one."""
        columns = zip(*(each.has for each in self._seen if each.has), strict=True)
        counts = [column.count("1") for column in columns] or [0] * len(words)
        return min(zip(counts, words, strict=True), key=lambda pair: (pair[0], -len(pair[1])))[1]
