"""Which tasks say nearly the same? Words only; the answer is a hint, never a verdict."""

import re
from collections.abc import Iterable

from codefleet.domain.model import Task

ALIKE = 0.6
SMALL = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "the", "to"))


def similar(title: str, tasks: Iterable[Task], limit: int = 3) -> list[Task]:
    """The tasks whose titles share most of their words with this one, most alike first."""
    ours = _words(title)
    scored = ((_alike(ours, _words(task.title)), task) for task in tasks)
    close = sorted((pair for pair in scored if pair[0] >= ALIKE), key=lambda pair: -pair[0])
    return [task for _, task in close[:limit]]


def _alike(ours: frozenset[str], theirs: frozenset[str]) -> float:
    both = ours | theirs
    return len(ours & theirs) / len(both) if both else 0.0


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower())) - SMALL
