"""Caps on agents at work: in the whole fleet, on one machine, in a repo, of a coder, in a swarm.

A store checks them inside the claim, so they hold however many runners claim at the same moment.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Swarm, Task


class Caps(NamedTuple):
    """The most agents at work; anything not named here is not capped."""

    fleet: int | None = None
    machine: int | None = None
    repos: tuple[tuple[str, int], ...] = ()
    coders: tuple[tuple[str, int], ...] = ()


NO_CAPS = Caps()


class AtWork(NamedTuple):
    """Where an agent is at work; a run whose lease has expired is claimable and does not count."""

    repo: str
    host: str
    coder: str


def reached(
    caps: Caps, at_work: Sequence[AtWork], hosts: Collection[str], *, repo: str, coder: str
) -> str:
    """The cap that keeps a task of this repo and coder from starting, in words; empty if none.

    `hosts` are the machines that could start it.
    """
    numbers = Counter(run.host for run in at_work)
    machine = caps.machine
    if caps.fleet is not None and len(at_work) >= caps.fleet:
        return _words(caps.fleet, "in the fleet", "most_agents")
    if machine is not None and hosts and all(numbers[host] >= machine for host in hosts):
        return _words(machine, "on each machine", "most_agents_per_machine")
    if _left(caps.repos, [run.repo for run in at_work]).get(repo, 1) <= 0:
        return _words(dict(caps.repos)[repo], f"in {repo}", "its most_agents")
    if _left(caps.coders, [run.coder for run in at_work]).get(coder, 1) <= 0:
        return _words(dict(caps.coders)[coder], f"as {coder}", "its most_agents")
    return ""


def swarm_is_full(swarm: Swarm) -> str:
    """Why no task of a swarm starts while its agents are as many as it may have."""
    return _words(swarm.max_agents, f"in the swarm {swarm.name}", "its max_agents")


def _words(cap: int, where: str, setting: str) -> str:
    agents = "agent works" if cap == 1 else "agents work"
    return f"{cap} {agents} {where}, as many as {setting} allows"


class Room:
    """The places that caps leave for one runner's seats; each start takes one."""

    def __init__(
        self,
        caps: Caps,
        at_work: Sequence[AtWork],
        seats: Sequence[Seat],
        swarms: Mapping[str, int] | None = None,
    ) -> None:
        """`swarms` has the places that are left in each; one that is not named has none."""
        self.swarms = dict(swarms or {})
        self.seats = _places(caps, at_work, seats)
        self.coder = seats[0].coder
        self._repos = _left(caps.repos, [run.repo for run in at_work])
        self._coders = _left(caps.coders, [run.coder for run in at_work])

    @property
    def full_repos(self) -> list[str]:
        return [name for name, left in self._repos.items() if left <= 0]

    @property
    def full_coders(self) -> list[str]:
        return [name for name, left in self._coders.items() if left <= 0]

    @property
    def open_swarms(self) -> list[str]:
        return [name for name, left in self.swarms.items() if left > 0]

    def has_place(self, task: Task) -> bool:
        coder = task.coder or self.coder
        if task.swarm is not None and self.swarms.get(task.swarm, 0) <= 0:
            return False
        return self._repos.get(task.repo, 1) > 0 and self._coders.get(coder, 1) > 0

    def take(self, task: Task) -> None:
        """Take a place for an agent that starts this task."""
        for left, name in ((self._repos, task.repo), (self._coders, task.coder or self.coder)):
            if name in left:
                left[name] -= 1
        if task.swarm is not None:
            self.swarms[task.swarm] -= 1


def _places(caps: Caps, at_work: Sequence[AtWork], seats: Sequence[Seat]) -> int:
    """How many of the seats the caps on the fleet and the machine allow to fill."""
    places = len(seats)
    if caps.fleet is not None:
        places = min(places, caps.fleet - len(at_work))
    if caps.machine is not None:
        places = min(places, caps.machine - sum(run.host == seats[0].host for run in at_work))
    return max(0, places)


def _left(caps: Sequence[tuple[str, int]], taken: Sequence[str]) -> dict[str, int]:
    return {name: cap - taken.count(name) for name, cap in caps}
