"""What all parts of a runner share: the fleet, the places in its home, the settings per repo."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from codefleet.config import FILE, Config, load
from codefleet.config.live import Live
from codefleet.domain.errors import FleetError
from codefleet.domain.model import Repo
from codefleet.fleet import Fleet
from codefleet.runner.agents.tail import Beat
from codefleet.runner.places import Places
from codefleet.runner.repos.footing import Footing
from codefleet.runner.repos.remote import Remote
from codefleet.runner.repos.roads import Roads


class Desk:
    """One runner's view of the fleet. Settings are read again when their files change."""

    def __init__(self, fleet: Fleet, flags: Mapping[str, object] | None = None) -> None:
        self.fleet = fleet
        self.places = Places(fleet.home)
        self.beat = Beat()
        self.roads = Roads()
        self.footing = Footing()
        self._flags = flags or {}
        self._live: dict[str, Live] = {}
        self._house = self._watch(None)

    async def repo(self, name: str) -> Repo:
        """A repo with the trunk that its settings name, else the one it was made known with."""
        known = await self.fleet.repo(name)
        return known.evolve(trunk=self.settings(known).trunk or known.trunk)

    async def repos(self) -> Sequence[Repo]:
        """Every repo of the fleet that is on this machine."""
        known = [repo for repo in await self.fleet.repos() if Path(repo.path).is_dir()]
        return [await self.repo(it.name) for it in known if not self.fleet.is_elsewhere(it)]

    async def out_of_reach(self) -> set[str]:
        """The repos that this machine cannot work on now, though another may."""
        return {repo.name for repo in await self.fleet.repos() if not self._reaches(repo)}

    def open_roads(self, repos: Sequence[Repo], when_done: Callable[[], None]) -> None:
        """Begin to copy the shared repos that this machine has no clone of.

        A clone that is gone is not replaced: its user may bring it back, with work that is in it.
        """
        for repo in (each for each in repos if each.shared):
            if Path(repo.path).is_dir():
                self.roads.note(repo.name, "")
            elif Path(repo.path) == self.fleet.mirror(repo.name):
                self.roads.copy(repo, when_done)
            else:
                self.roads.note(repo.name, f"{repo.name} is no longer at {repo.path}")

    async def lost_ground(self, repos: Sequence[Repo]) -> set[str]:
        """Those here that have no folder or no trunk now; what each lacks is noted as news."""
        lacks = dict(self.fleet.gone(repos))
        for name in self.footing.doubted - lacks.keys():
            if why := await self.footing.lacks(await self.repo(name)):
                lacks[name] = why
        for repo in repos:
            if not repo.shared:
                self.roads.note(repo.name, lacks.get(repo.name, ""))
        return {*lacks}

    def remote(self, repo: Repo) -> Remote | None:
        """The remote through which work on this repo travels, if it is shared."""
        return Remote(repo, self.places.remote_lock(repo.name)) if repo.shared else None

    def _reaches(self, repo: Repo) -> bool:
        if not repo.shared:
            return not self.fleet.is_elsewhere(repo)
        return Path(repo.path).is_dir() and not self.roads.is_closed(repo.name)

    def settings(self, repo: Repo) -> Config:
        """The settings in force for this repo."""
        if repo.name not in self._live:
            self._live[repo.name] = self._watch(repo)
        return self._live[repo.name].config

    async def refresh(self) -> None:
        """Take over changed settings; a bad change is told and the last good settings stay."""
        for live in (self._house, *self._live.values()):
            found = live.refresh()
            if found is None:
                continue
            refused = found.problem if isinstance(found, FleetError) else ""
            await self.fleet.settings_changed(refused)
        self.fleet.config = self._house.config

    def _watch(self, repo: Repo | None) -> Live:
        home = self.fleet.home
        path = Path(repo.path) if repo else None
        name = repo.name if repo else None

        def read() -> Config:
            return load(home, repo=path, repo_name=name, env=os.environ, flags=self._flags)

        return Live(read, [home / FILE, *([path / FILE] if path else [])])
