"""Repos: the git repositories the fleet works on, and where they are on this machine."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from codefleet.config import kept, trouble_of
from codefleet.config.repo_file import kept_at
from codefleet.domain.errors import NotFound, Refused, Stale
from codefleet.domain.events import event
from codefleet.domain.meant import did_you_mean
from codefleet.domain.model import Repo
from codefleet.fleet.core import TRIES, Core
from codefleet.ports import Write

SCP_LIKE = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")
URL = re.compile(r"[a-z+]+://(?:[^@/]*@)?([^/:]*)(?::\d+)?/(.+)")
SECRET = re.compile(r"(https?://)[^@/]*@")


class Repos(Core):
    async def repos(self) -> Sequence[Repo]:
        """Every repo, with the path that it has or would have on this machine."""
        return [self._here(repo) for repo in await self.store.repos()]

    async def repo(self, name: str) -> Repo:
        known = {repo.name: repo for repo in await self.repos()}
        if name not in known:
            hint = did_you_mean(name, known, "run `fleet init` inside it")
            raise NotFound(f"no repository {name[:80]}", hint=hint)
        return known[name]

    @property
    def has_many_machines(self) -> bool:
        """May other machines use the same store? A file belongs to this machine alone."""
        return self.config.store.startswith("postgres")

    def is_elsewhere(self, repo: Repo) -> bool:
        """Do only other machines work on it?"""
        return (
            self.has_many_machines
            and not repo.shared
            and bool(repo.paths)
            and self.host not in repo.paths
        )

    def refuse_elsewhere(self, repo: Repo) -> None:
        """Refuse to add a repo here that only other machines work on: there would be two."""
        if self.is_elsewhere(repo):
            raise Refused(
                f"{repo.name} is used only by {', '.join(sorted(repo.paths))}",
                hint="run `fleet init --share` there first; then work travels through the remote",
            )

    async def register(self, path: str, trunk: str, remote: str | None) -> Repo:
        """Add a repository under the name of its folder; known ones are not changed.

        A clone of a known shared repo that this machine does not have yet counts as that repo.
        """
        await self.permit("add a repository")
        self.refuse_foreign(path)
        for _ in range(TRIES):
            try:
                return await self._register(path, trunk, remote)
            except Stale:  # someone else added it at the same moment
                continue
        raise Stale(f"{path} keeps changing", hint="try again")

    async def _register(self, path: str, trunk: str, remote: str | None) -> Repo:
        stored = await self.store.repos()
        known = {repo.name: self._here(repo) for repo in stored}
        for repo in known.values():
            if repo.path == path and not self.is_elsewhere(repo):
                return repo
        for repo in stored:
            joins = repo.shared or self.is_elsewhere(repo)
            if joins and self.host not in repo.paths and same_remote(repo.remote, remote):
                return await self._found_here(repo, path)
        repo = Repo(
            name=_free(path, known),
            path=path,
            trunk=trunk,
            remote=remote and _without_secret(remote),
            paths={self.host: path},
        )
        now = await self.store.now()
        await self.store.write(
            Write(repos=[repo], events=[event("repo.added", now, f"{repo.name} at {path}")])
        )
        return repo

    async def relocate(self, repo: Repo, path: str) -> Repo:
        """Record that the repo is now in another folder of this machine, with all its tasks."""
        await self.permit("move a repository")
        self.refuse_foreign(path)
        stored = next(each for each in await self.store.repos() if each.name == repo.name)
        paths = {**stored.paths, self.host: path}
        first = path if stored.path == repo.path else stored.path
        there = stored.evolve(path=first, paths=paths, version=stored.version + 1)
        text = f"{repo.name} from {repo.path} to {path}"
        told = event("repo.moved", await self.store.now(), text)
        await self.store.write(Write(repos=[there], events=[told]))
        return self._here(there)

    async def share(self, repo: Repo, remote: str) -> Repo:
        """Let work on this repo travel through its remote, so that any machine may join."""
        await self.permit("share a repository")
        if repo.shared:
            return repo
        paths = {self.host: repo.path, **repo.paths}
        known = _without_secret(remote)
        shared = repo.evolve(shared=True, remote=known, paths=paths, version=repo.version + 1)
        told = event("repo.shared", await self.store.now(), f"{repo.name} through {known}")
        await self.store.write(Write(repos=[shared], events=[told]))
        return shared

    def gone(self, repos: Iterable[Repo]) -> Mapping[str, str]:
        """Repos that only this machine works on and that are missing now, each with a sentence."""
        return {
            repo.name: f"{repo.name} is no longer at {repo.path}"
            for repo in repos
            if self._is_only_here(repo) and not Path(repo.path).is_dir()
        }

    def unusable(self, repos: Iterable[Repo]) -> Mapping[str, str]:
        """Repos whose own settings, as on their trunk, cannot be used; with the reason."""
        found = {repo.name: trouble_of(kept(self.home, repo.name)) for repo in repos}
        return {name: why for name, why in found.items() if why}

    def unusable_since(self, repo: str) -> datetime:
        """When this machine saw the present settings of this repo appear on its trunk."""
        return datetime.fromtimestamp(kept_at(self.home, repo).stat().st_mtime, UTC)

    def _is_only_here(self, repo: Repo) -> bool:
        return not repo.shared and (self.host in repo.paths or not self.has_many_machines)

    async def miss(self, why: str) -> None:
        """Report that this machine cannot reach a repo, and takes none of its tasks."""
        told = event("repo.away", await self.store.now(), f"{self.host}: {why}")
        await self.store.write(Write(events=[told]))

    async def _found_here(self, repo: Repo, path: str) -> Repo:
        """Record that this machine now has its own clone of the repo."""
        self.refuse_elsewhere(repo)
        paths = {**repo.paths, self.host: path}
        here = repo.evolve(path=path, paths=paths, version=repo.version + 1)
        told = event("repo.added", await self.store.now(), f"{repo.name} at {path} on {self.host}")
        await self.store.write(Write(repos=[here.evolve(path=repo.path)], events=[told]))
        return here

    def _here(self, repo: Repo) -> Repo:
        """The repo as it is on this machine: its user's clone or, if shared, a mirror."""
        if self.host in repo.paths:
            return repo.evolve(path=repo.paths[self.host])
        return repo.evolve(path=str(self.mirror(repo.name))) if repo.shared else repo


def _without_secret(address: str) -> str:
    return SECRET.sub(r"\1", address)


def same_remote(one: str | None, other: str | None) -> bool:
    """Do two addresses name the same repository, whatever the protocol?"""
    return bool(one and other) and _place(str(one)) == _place(str(other))


def _place(address: str) -> tuple[str, str]:
    found = URL.fullmatch(address) or SCP_LIKE.fullmatch(address)
    host, path = found.groups() if found else ("", address)
    return host.lower(), path.strip("/").removesuffix(".git")


def _free(path: str, known: dict[str, Repo]) -> str:
    base = path.rstrip("/").rsplit("/", 1)[-1] or "root"
    names = [base, *(f"{base}-{n}" for n in range(2, len(known) + 3))]
    return next(name for name in names if name not in known)
