"""Which repos this machine can work on now: those it has and whose remote responds."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from codefleet.domain.errors import FleetError, Unreachable
from codefleet.domain.model import Repo
from codefleet.runner.git.git import Git
from codefleet.runner.git.lookup import commit_at
from codefleet.runner.sharing.remote import LONGEST_S, Remote, make_mirror

CLOSED_S = 5.0
FORGOTTEN_S = 2 * LONGEST_S
"""A remote that has not been tried for this long may be back: it is no longer reported."""


class Reachability:
    """Access to the remotes of shared repos; one that failed is closed until it answers."""

    def __init__(self) -> None:
        self._closed: dict[str, float] = {}
        self._making: dict[str, asyncio.Task[None]] = {}
        self._known: dict[str, str] = {}
        self._news: list[str] = []
        self._away: dict[str, tuple[str, float]] = {}

    def is_closed(self, repo: str) -> bool:
        return repo in self._away

    @contextmanager
    def watched(self, repo: str) -> Iterator[None]:
        """Remember whether the remote responded."""
        try:
            yield
        except Unreachable as trouble:
            self._close(repo, trouble.problem)
            raise
        self._closed.pop(repo, None)
        self._away.pop(repo, None)

    def away(self) -> Mapping[str, str]:
        """The repos whose remote did not respond at the last attempt, and why."""
        oldest = time.monotonic() - FORGOTTEN_S
        return {repo: why for repo, (why, tried) in self._away.items() if tried > oldest}

    def note(self, repo: str, trouble: str) -> None:
        """Note what keeps this machine from a repo; the same problem is reported only once."""
        if trouble and self._known.get(repo) != trouble:
            self._news.append(trouble)
        self._known[repo] = trouble

    def news(self) -> Sequence[str]:
        """What was noted since the last call."""
        news, self._news = self._news, []
        return news

    def copy(self, repo: Repo, when_done: Callable[[], None]) -> None:
        """Start to copy a repo, unless that is in progress or has just failed."""
        self._begin(repo.name, lambda: self._copy(repo), when_done)

    def retry_remote(self, remote: Remote, when_done: Callable[[], None]) -> None:
        """Try an unreachable remote again, unless that is in progress or has just failed."""
        if self.is_closed(remote.name):
            self._begin(remote.name, remote.fetch, when_done)

    async def leave(self) -> None:
        """Cancel copies in progress; the next runner continues them."""
        for making in self._making.values():
            making.cancel()
        await asyncio.gather(*self._making.values(), return_exceptions=True)

    def _begin(
        self, repo: str, work: Callable[[], Awaitable[None]], when_done: Callable[[], None]
    ) -> None:
        if repo not in self._making and self._closed.get(repo, 0.0) <= time.monotonic():
            making = asyncio.create_task(self._make(repo, work))
            self._making[repo] = making
            making.add_done_callback(lambda _: when_done())

    async def _make(self, repo: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
            self._away.pop(repo, None)
        except FleetError as trouble:  # retried after a while, whatever it is
            self._close(repo, trouble.problem)
        finally:
            del self._making[repo]

    async def _copy(self, repo: Repo) -> None:
        try:
            await make_mirror(repo)
        except FleetError as trouble:
            self.note(repo.name, trouble.problem)
            raise

    def _close(self, repo: str, why: str) -> None:
        self._closed[repo] = time.monotonic() + CLOSED_S
        self._away[repo] = (why, time.monotonic())


class MissingTrunks:
    """The repos whose trunk was missing; only these are checked, because a check runs git."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def add(self, repo: str) -> None:
        """Note that a run did not find the trunk of this repo."""
        self.names.add(repo)

    async def check(self, repo: Repo) -> str:
        """What the repo still lacks; empty if nothing, and then it is no longer checked."""
        if await has_trunk(repo):
            self.names.discard(repo.name)
            return ""
        return f"{repo.name} has no branch {repo.trunk}"


async def has_trunk(repo: Repo) -> bool:
    """Does the branch exist that work on this repo starts from and lands on?"""
    return await commit_at(Git(Path(repo.path)), repo.trunk_ref) is not None
