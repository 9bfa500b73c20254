"""What all parts of a runner share: the fleet, the places in its home, the settings per repo."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from codefleet.config import FILE, Config, load
from codefleet.config.reloading import Live
from codefleet.config.repo_file import kept_at
from codefleet.domain.errors import FleetError
from codefleet.domain.model import Repo
from codefleet.fleet import Fleet, places
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.git import trunk_file
from codefleet.runner.git.trusted_view import guard
from codefleet.runner.output.tail import ReadSchedule
from codefleet.runner.paths import Paths
from codefleet.runner.sharing.reachability import MissingTrunks, Reachability
from codefleet.runner.sharing.remote import Remote


class Context:
    """One runner's view of the fleet. Settings are read again when their files change."""

    def __init__(self, fleet: Fleet, flags: Mapping[str, object] | None = None) -> None:
        self.fleet = fleet
        self.paths = Paths(fleet.home)
        guard(fleet.home)
        self.read_schedule = ReadSchedule()
        self.reachability = Reachability()
        self.missing_trunks = MissingTrunks()
        self.tools_url = ""
        """Where agents of this runner reach their tools over HTTP; empty if nowhere."""
        self._flags = flags or {}
        self._live: dict[str, Live] = {}
        self._refused: Mapping[str, str] = {}
        self._trunks: dict[str, trunk_file.Stamp] = {}
        self._fleet_settings = self._watch(None)

    @property
    def dispatch(self) -> Dispatch:
        """The runner's half of the fleet, for the same actor."""
        return Dispatch(self.fleet)

    def serves(self, coder: str) -> bool:
        """Does this runner take tasks for this coder?"""
        return self._flags.get("coder") in (None, coder)

    async def repo(self, name: str) -> Repo:
        """A repo with the trunk from its owner's settings, or else the one it was added with."""
        known = await self.fleet.repo(name)
        await self._look_at_trunk(known)
        return self._with_trunk(known)

    async def repos(self) -> Sequence[Repo]:
        """Every repo of the fleet that is on this machine."""
        known = [repo for repo in await self.fleet.repos() if Path(repo.path).is_dir()]
        here = [repo for repo in known if not places.is_elsewhere(self.fleet, repo)]
        return [await self.repo(it.name) for it in here if it.name not in self.unusable(here)]

    async def out_of_reach(self) -> set[str]:
        """The repos that this machine cannot work on now, although another may."""
        return {repo.name for repo in await self.fleet.repos() if not self._reaches(repo)}

    def open_repos(self, repos: Sequence[Repo], when_done: Callable[[], None]) -> None:
        """Start to copy the shared repos that this machine has no clone of, and to try remotes that
        were unreachable: nothing starts there until they answer.

        A clone that is gone is not replaced: its user may bring it back, with work in it.
        """
        for repo in (each for each in repos if each.shared):
            if Path(repo.path).is_dir():
                self.reachability.note(repo.name, "")
                self.reachability.retry_remote(self._remote(repo), when_done)
            elif Path(repo.path) == places.mirror(self.fleet.home, repo.name):
                self.reachability.copy(repo, when_done)
            else:
                self.reachability.note(repo.name, f"{repo.name} is no longer at {repo.path}")

    async def missing_repos(self, repos: Sequence[Repo]) -> set[str]:
        """The local repos that now lack their folder or trunk; what is missing is noted as news."""
        missing = dict(places.gone(self.fleet, repos))
        for name in self.missing_trunks.names - missing.keys():
            if why := await self.missing_trunks.check(await self.repo(name)):
                missing[name] = why
        for repo in repos:
            if not repo.shared:
                self.reachability.note(repo.name, missing.get(repo.name, ""))
        return {*missing}

    def unusable(self, repos: Sequence[Repo]) -> Mapping[str, str]:
        """The repos whose own settings cannot be used: nothing starts there until they change."""
        found = dict(places.unusable(self.fleet, repos))
        for repo in repos:
            try:
                self.settings(repo)
            except FleetError as bad:  # a repo in use keeps its last good settings
                found.setdefault(repo.name, bad.problem)
        return found

    async def tell_unusable(self, repos: Sequence[Repo]) -> set[str]:
        """The same; a new reason is published."""
        found = self.unusable(repos)
        for name, why in found.items():
            if self._refused.get(name) != why and name not in self._live:
                await self.dispatch.settings_changed(why)
        self._refused = found
        return {*found}

    async def look_at_trunks(self, repos: Sequence[Repo]) -> None:
        """Load the settings that the trunks of these repos have now."""
        for repo in repos:
            if Path(repo.path).is_dir():
                await self._look_at_trunk(repo)

    async def _look_at_trunk(self, repo: Repo) -> None:
        """Load the repo's own settings from its trunk, if that has moved."""
        at = self._with_trunk(repo)
        seen = trunk_file.stamp(at)
        if self._trunks.get(repo.name) != seen or not seen:
            self._trunks[repo.name] = seen
            if await trunk_file.copy_repo_settings(self.fleet.home, at):
                await self.refresh()

    def _with_trunk(self, repo: Repo) -> Repo:
        settings = self.fleet.config.for_repo(repo.name)
        return repo.evolve(trunk=settings.trunk or repo.trunk)

    def remote(self, repo: Repo) -> Remote | None:
        """The remote through which work on this repo is exchanged, if it is shared."""
        return self._remote(repo) if repo.shared else None

    def origin(self, repo: Repo) -> Remote:
        """The remote of a repo that has one, whether it is shared or not."""
        return self._remote(repo)

    def _remote(self, repo: Repo) -> Remote:
        return Remote(self._with_trunk(repo), self.paths.remote_lock(repo.name))

    def _reaches(self, repo: Repo) -> bool:
        if not repo.shared:
            return not places.is_elsewhere(self.fleet, repo)
        return Path(repo.path).is_dir() and not self.reachability.is_closed(repo.name)

    def settings(self, repo: Repo) -> Config:
        """The settings in force for this repo."""
        if repo.name not in self._live:
            self._live[repo.name] = self._watch(repo)
        return self._live[repo.name].config

    async def refresh(self) -> None:
        """Load changed settings; a bad change is reported, and the last good settings stay."""
        for live in (self._fleet_settings, *self._live.values()):
            found = live.refresh()
            if found is None:
                continue
            refused = found.problem if isinstance(found, FleetError) else ""
            await self.dispatch.settings_changed(refused)
        self.fleet.config = self._fleet_settings.config

    def _watch(self, repo: Repo | None) -> Live:
        home = self.fleet.home
        name = repo.name if repo else None

        def read() -> Config:
            return load(home, repo_name=name, env=os.environ, flags=self._flags)

        return Live(read, [home / FILE, *([kept_at(home, name)] if name else [])])
