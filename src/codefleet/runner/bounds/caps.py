"""Caps on agents at work: in the whole fleet, on one machine, in one repo, of one coder.

They are counted before a claim and not within it, so two runners that claim at the same moment can
both take the last place. A runner under caps claims one task at a time: at worst there is one agent
too many for each further runner, until it ends.
"""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from codefleet.config import Config
from codefleet.domain.model import Run
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery


class Room(NamedTuple):
    """How many agents may start at once, and which repos and coders are full."""

    seats: int
    repos: Collection[str] = ()
    coders: Collection[str] = ()


async def room(fleet: Fleet, free: int) -> Room:
    """What the caps leave for this many free seats of this machine."""
    config = fleet.config
    repos = {name: cap for name in config.repos if (cap := config.repos[name].get("most_agents"))}
    coders = {name: cap for name, its in config.coders.items() if (cap := its.get("most_agents"))}
    if not (repos or coders or config.most_agents or config.most_agents_per_machine):
        return Room(free)
    live = await _at_work(fleet)
    ids = sorted({run.task for run in live})
    tasks = await fleet.list(TaskQuery(ids=ids)) if ids and repos else ()
    return Room(
        min(free, 1) if _has_place(config, live, fleet.host) else 0,
        _full(repos, Counter(task.repo for task in tasks)),
        _full(coders, Counter(run.coder for run in live)),
    )


async def _at_work(fleet: Fleet) -> list[Run]:
    """The runs that count: one whose lease ran out waits to be claimed itself."""
    now = await fleet.store.now()
    return [run for run in await fleet.store.runs(live=True) if run.lease_until > now]


def _has_place(config: Config, live: list[Run], host: str) -> bool:
    caps = (
        (config.most_agents, len(live)),
        (config.most_agents_per_machine, sum(run.host == host for run in live)),
    )
    return all(cap is None or count < cap for cap, count in caps)


def _full(caps: dict[str, int], count: Counter[str]) -> set[str]:
    return {name for name, cap in caps.items() if count[name] >= cap}
