"""How long work usually takes, based on successful runs, and when the rest will be done."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from codefleet.domain import graph
from codefleet.domain.words import Complexity

LEAST_LEFT = 0.1
"""A run that has taken longer than usual is expected to need this share of the usual time."""


class Took(NamedTuple):
    """A successful run, and how long it took."""

    coder: str
    complexity: Complexity | None
    seconds: float


def usual(took: Sequence[Took], coder: str | None, complexity: Complexity | None) -> float | None:
    """The median of the most similar runs: the same coder and complexity, the same coder, any.

    None if there is no history at all.
    """
    from statistics import median  # imported here, because it is slow and few commands need it

    by_coder = [each for each in took if coder in (None, each.coder)]
    alike = [each for each in by_coder if each.complexity is complexity]
    runs = alike or by_coder or took
    return median(each.seconds for each in runs) if runs else None


def left_of(elapsed: float, usual: float) -> float:
    """How many more seconds a run needs after `elapsed` seconds of work."""
    return max(usual - elapsed, usual * LEAST_LEFT)


def left(
    needed: Mapping[str, float],
    needs: Mapping[str, Iterable[str]],
    *,
    beyond: float = 0.0,
    seats: int,
) -> float | None:
    """How many seconds until all of this is done, or None if there is no seat to do it.

    `needed` holds the seconds that each task still takes, `beyond` those of unlisted tasks.
    Whichever is longer decides: the work shared by all seats, or the longest chain.
    """
    if not needed and not beyond:
        return 0.0
    if seats <= 0:
        return None
    inside = {task: [need for need in needs.get(task, ()) if need in needed] for task in needed}
    done_after: dict[str, float] = {}
    for task in graph.order(inside):
        first = max((done_after[need] for need in inside[task]), default=0.0)
        done_after[task] = first + needed[task]
    work = sum(needed.values()) + beyond
    return max(work / seats, *done_after.values(), 0.0)
