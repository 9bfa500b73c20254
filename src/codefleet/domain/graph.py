"""Needs as a graph: cycles, order, the critical path, and what a failure holds up."""

from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from codefleet.domain.errors import Cycle

Needs = Mapping[str, Collection[str]]


def order(needs: Needs) -> list[str]:
    """Every task after all that it needs; a cycle is refused and named."""
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as found:
        loop: Sequence[str] = found.args[1]
        raise Cycle(
            f"these tasks would wait for one another: {' -> '.join(reversed(loop))}",
            hint="drop one of these needs",
        ) from None


def levels(needs: Needs) -> dict[str, int]:
    """The depth of each task: the length of the longest chain that it waits for."""
    depth: dict[str, int] = {}
    for name in order(needs):
        depth[name] = max((depth[need] + 1 for need in needs.get(name, ())), default=0)
    return depth


def critical_path(needs: Needs) -> list[str]:
    """The longest chain of tasks that wait for one another: the least time the whole can take."""
    depth = levels(needs)
    path: list[str] = []
    at = max(depth, key=depth.__getitem__, default=None)
    while at is not None:
        path.append(at)
        at = max(needs.get(at, ()), key=depth.__getitem__, default=None)
    return path[::-1]


def holding_up(needs: Needs) -> dict[str, int]:
    """How many others each task holds up, directly or not; those that hold up none are left out."""
    ahead = order(needs)
    below = dict.fromkeys(ahead, 0)  # a bit for each task that waits
    for bit, name in reversed(list(enumerate(ahead))):
        for need in needs.get(name, ()):
            below[need] |= below[name] | 1 << bit
    return {name: waiting.bit_count() for name, waiting in below.items() if waiting}


def held_up_by(failed: str, needs: Needs) -> list[str]:
    """Everything that cannot start while `failed` has not completed, nearest first."""
    waiting: dict[str, list[str]] = defaultdict(list)
    for name, its in needs.items():
        for need in its:
            waiting[need].append(name)
    seen: dict[str, None] = {}
    ahead = deque(waiting[failed])
    while ahead:
        name = ahead.popleft()
        if name not in seen:
            seen[name] = None
            ahead.extend(waiting[name])
    return list(seen)
