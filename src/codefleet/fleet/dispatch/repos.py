"""Repos: record what was done to one with git, so that the rest of the fleet knows."""

from codefleet.domain.access import Right
from codefleet.domain.events import event
from codefleet.domain.model import Repo
from codefleet.fleet import places
from codefleet.fleet.dispatch.part import DispatchPart
from codefleet.fleet.repos import without_secret
from codefleet.ports import Write


class Repos(DispatchPart):
    async def relocate(self, repo: Repo, path: str) -> Repo:
        """Record that the repo is now in another folder of this machine, with all its tasks."""
        await self.core.permit(Right.MOVE_REPO)
        places.refuse_foreign(self.core, path)
        stored = next(
            each for each in await self.core.store.records(Repo) if each.name == repo.name
        )
        paths = {**stored.paths, self.core.host: path}
        first = path if stored.path == repo.path else stored.path
        there = stored.evolve(path=first, paths=paths, version=stored.version + 1)
        text = f"{repo.name} from {repo.path} to {path}"
        told = event("repo.moved", await self.core.store.now(), text)
        await self.core.write(Write(records=[there], events=[told]))
        return places.here(self.core, there)

    async def share(self, repo: Repo, remote: str) -> Repo:
        """Let work on this repo travel through its remote, so that any machine may join."""
        await self.core.permit(Right.SHARE_REPO)
        if repo.shared:
            return repo
        paths = {self.core.host: repo.path, **repo.paths}
        known = without_secret(remote)
        shared = repo.evolve(shared=True, remote=known, paths=paths, version=repo.version + 1)
        told = event("repo.shared", await self.core.store.now(), f"{repo.name} through {known}")
        await self.core.write(Write(records=[shared], events=[told]))
        return shared
