"""The trunk that work lands on: a branch of this repository, or that of a shared remote."""

from pathlib import Path
from typing import Protocol

from codefleet.runner.git import branch
from codefleet.runner.git.git import Git
from codefleet.runner.landing import checkout
from codefleet.runner.sharing.remote import Remote


class Trunk(Protocol):
    """A trunk that moves forward by compare-and-swap, or reports why it does not."""

    async def ready(self) -> str | None:
        """Refresh what is known of the trunk, or return what prevents it."""

    async def head(self) -> str:
        """The commit that the trunk is at."""

    async def dropped_commit(self, old: str, tip: str) -> str | None:
        """The newest commit that the trunk was at, no longer has, and this tip would bring back."""

    async def in_the_way(self, old: str, tree: str) -> str | None:
        """What keeps the trunk from moving to this tree, if anything."""

    async def move(self, old: str, new: str) -> str | None:
        """Move the trunk, or return why not."""


class LocalTrunk:
    """The trunk of a repo that only this machine works on, with the user's checkout of it."""

    def __init__(self, repo: Path, trunk: str, journal: Path) -> None:
        self.repo, self.trunk, self.journal = repo, trunk, journal

    async def ready(self) -> str | None:
        return await checkout.recover(self.journal)

    async def head(self) -> str:
        return await branch.head(Git(self.repo), self.trunk)

    async def dropped_commit(self, old: str, tip: str) -> str | None:
        return await branch.dropped_commit(Git(self.repo), f"refs/heads/{self.trunk}", old, tip)

    async def in_the_way(self, old: str, tree: str) -> str | None:
        place = await checkout.where(self.repo, self.trunk)
        return await checkout.in_the_way(place, old, tree) if place else None

    async def move(self, old: str, new: str) -> str | None:
        place = await checkout.where(self.repo, self.trunk)
        if place:
            return await checkout.forward(place, self.trunk, old, new, self.journal)
        return await checkout.move_branch(self.repo, self.trunk, old, new, self.journal)


class SharedTrunk:
    """The trunk at a remote, which refuses a push that is not a fast-forward.

    The user's own checkout is not touched; it follows when the user pulls.
    """

    def __init__(self, remote: Remote) -> None:
        self.remote = remote

    async def ready(self) -> str | None:
        await self.remote.fetch()
        return None

    async def head(self) -> str:
        return str(await self.remote.tip(self.remote.trunk))

    async def dropped_commit(self, old: str, tip: str) -> str | None:
        trunk = f"refs/remotes/origin/{self.remote.trunk}"
        return await branch.dropped_commit(self.remote.git, trunk, old, tip)

    async def in_the_way(self, old: str, tree: str) -> str | None:
        return None

    async def move(self, old: str, new: str) -> str | None:
        why = await self.remote.send_trunk(new)
        if why:
            await self.remote.fetch()
            return f"the remote of {self.remote.name} rejected {self.remote.trunk}: {why}"
        return None
