"""Repos: the git repositories the fleet works on, and where they are on this machine."""

import re
from collections.abc import Iterable, Sequence
from unicodedata import normalize

from codefleet.domain.access import Right
from codefleet.domain.errors import NotFound, Stale
from codefleet.domain.events import event
from codefleet.domain.model import Repo
from codefleet.domain.suggestion import did_you_mean
from codefleet.fleet import places
from codefleet.fleet.core import TRIES
from codefleet.fleet.verbs import Verbs
from codefleet.ports import Write

SCP_LIKE = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")
URL = re.compile(r"[a-z+]+://(?:[^@/]*@)?([^/:]*)(?::\d+)?/(.+)")
SECRET = re.compile(r"(https?://)[^@/]*@")


class Repos(Verbs):
    async def repos(self) -> Sequence[Repo]:
        """Every repo, with the path that it has or would have on this machine."""
        return [places.here(self.core, repo) for repo in await self.core.store.records(Repo)]

    async def repo(self, name: str) -> Repo:
        """The repo with this name, with its path on this machine."""
        known = {repo.name: repo for repo in await self.repos()}
        if name not in known:
            hint = did_you_mean(name, known, "run `fleet init` inside it")
            raise NotFound(f"no repository {name[:80]}", hint=hint)
        return known[name]

    async def register(self, path: str, trunk: str, remote: str | None) -> Repo:
        """Add a repository under the name of its folder; known ones are not changed.

        A clone of a known shared repo that this machine does not have yet counts as that repo.
        """
        await self.core.permit(Right.ADD_REPO)
        places.refuse_foreign(self.core, path)
        for _ in range(TRIES):
            try:
                return await self._register(path, trunk, remote)
            except Stale:  # someone else added it at the same moment
                continue
        raise Stale(f"{path} keeps changing", hint="try again")

    async def _register(self, path: str, trunk: str, remote: str | None) -> Repo:
        stored = await self.core.store.records(Repo)
        known = {repo.name: places.here(self.core, repo) for repo in stored}
        for repo in known.values():
            if repo.path == path and not places.is_elsewhere(self.core, repo):
                return repo
        for repo in stored:
            joins = repo.shared or places.is_elsewhere(self.core, repo)
            if joins and self.core.host not in repo.paths and same_remote(repo.remote, remote):
                return await self._found_here(repo, path)
        repo = Repo(
            name=_free(path, known),
            path=path,
            trunk=trunk,
            remote=remote and without_secret(remote),
            paths={self.core.host: path},
        )
        now = await self.core.store.now()
        await self.core.write(
            Write(records=[repo], events=[event("repo.added", now, f"{repo.name} at {path}")])
        )
        return repo

    async def _found_here(self, repo: Repo, path: str) -> Repo:
        """Record that this machine now has its own clone of the repo."""
        places.refuse_elsewhere(self.core, repo)
        paths = {**repo.paths, self.core.host: path}
        here = repo.evolve(path=path, paths=paths, version=repo.version + 1)
        told = event(
            "repo.added", await self.core.store.now(), f"{repo.name} at {path} on {self.core.host}"
        )
        await self.core.write(Write(records=[here.evolve(path=repo.path)], events=[told]))
        return here


def without_secret(address: str) -> str:
    """The address of a remote without a user name or password."""
    return SECRET.sub(r"\1", address)


def same_remote(one: str | None, other: str | None) -> bool:
    """Do two addresses name the same repository, whatever the protocol?"""
    return bool(one and other) and _place(str(one)) == _place(str(other))


def _place(address: str) -> tuple[str, str]:
    found = URL.fullmatch(address) or SCP_LIKE.fullmatch(address)
    host, path = found.groups() if found else ("", address)
    return host.lower(), path.strip("/").removesuffix(".git")


def _free(path: str, known: Iterable[str]) -> str:
    """A name that no other repo has, not even with other capitals: folders are named after it."""
    base = normalize("NFC", path.rstrip("/").rsplit("/", 1)[-1]) or "root"
    taken = {name.casefold() for name in known}
    names = [base, *(f"{base}-{n}" for n in range(2, len(taken) + 3))]
    return next(name for name in names if name.casefold() not in taken)
