"""How many more agents a machine can take: memory as they grow, processors as they start."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

STARTS_PER_CORE = 4
ENOUGH_RUNS = 3
RECENT_RUNS = 20
USUAL = 0.8


class Machine(NamedTuple):
    """What a machine has available."""

    free_mb: int
    cores: int


class Working(NamedTuple):
    """An agent at work: memory used, memory its kind needs, and whether it is still starting."""

    took_mb: int
    needs_mb: int
    starts: bool = False


class Newcomer(NamedTuple):
    """An agent that would be started next."""

    coder: str
    needs_mb: int


class Admitted(NamedTuple):
    """How many newcomers may start, and what the next one waits for."""

    seats: int
    waits: str = ""


def admit(
    newcomers: Sequence[Newcomer], working: Sequence[Working], machine: Machine, reserve_mb: int
) -> Admitted:
    """Admit as many as fit beside the working agents; if none is working, at least one."""
    growth = sum(max(0, agent.needs_mb - agent.took_mb) for agent in working)
    spare = machine.free_mb - reserve_mb - growth
    starts = machine.cores * STARTS_PER_CORE - sum(agent.starts for agent in working)
    for count, newcomer in enumerate(newcomers):
        if working or count:
            if spare < newcomer.needs_mb:
                return Admitted(count, _short_of_memory(spare, newcomer))
            if count >= starts:
                return Admitted(count, "waits for agents that are starting up")
        spare -= newcomer.needs_mb
    return Admitted(len(newcomers))


def usual_need(peaks: Iterable[int], guess: int) -> int:
    """The memory an agent of a kind needs, from the peaks of its runs, newest first.

    Rare outliers do not count; until there are a few runs, the guess does.
    """
    known = sorted([*(peak for peak in peaks if peak)][:RECENT_RUNS])
    if len(known) < ENOUGH_RUNS:
        return max([guess, *known])
    return known[int(USUAL * (len(known) - 1))]


def _short_of_memory(spare: int, newcomer: Newcomer) -> str:
    free = max(0, spare // 10 * 10)
    return f"waits for memory: {free} MB free, {newcomer.coder} needs {newcomer.needs_mb} MB"
