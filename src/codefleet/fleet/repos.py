"""Repos: the git repositories the fleet works on."""

from collections.abc import Sequence

from codefleet.domain.errors import NotFound
from codefleet.domain.events import event
from codefleet.domain.model import Repo
from codefleet.fleet.core import Core
from codefleet.ports import Write


class Repos(Core):
    async def repos(self) -> Sequence[Repo]:
        return await self.store.repos()

    async def repo(self, name: str) -> Repo:
        found = next((repo for repo in await self.store.repos() if repo.name == name), None)
        if not found:
            raise NotFound(f"no repository {name}", hint="run `fleet init` inside it")
        return found

    async def register(self, path: str, trunk: str, remote: str | None) -> Repo:
        """Make a repository known by the name of its folder; known ones are left as they are."""
        known = {repo.name: repo for repo in await self.store.repos()}
        for repo in known.values():
            if repo.path == path:
                return repo
        repo = Repo(name=_free(path, known), path=path, trunk=trunk, remote=remote)
        now = await self.store.now()
        await self.store.write(
            Write(repos=[repo], events=[event("repo.added", now, f"{repo.name} at {path}")])
        )
        return repo


def _free(path: str, known: dict[str, Repo]) -> str:
    base = path.rstrip("/").rsplit("/", 1)[-1] or "root"
    names = [base, *(f"{base}-{n}" for n in range(2, len(known) + 3))]
    return next(name for name in names if name not in known)
