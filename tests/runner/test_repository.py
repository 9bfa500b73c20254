"""Registering a repository with the fleet."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from codefleet.runner.repos import known_repo
from codefleet.wiring import open_fleet
from tests.gitrepo import make_repo


async def test_who_makes_a_repository_known_at_the_same_moment_gets_the_same_one(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path / "shop", {"README.md": "A shop.\n"})
    async with AsyncExitStack() as stack:
        home = tmp_path / "home"
        doors = [await stack.enter_async_context(open_fleet(home, create=True)) for _ in range(6)]
        found = await asyncio.gather(*(known_repo(fleet, repo.path) for fleet in doors))
        assert {one.name for one in found} == {"shop"}
        assert [one.name for one in await doors[0].repos()] == ["shop"]
        kinds = [event.kind for event in await doors[0].events()]
        assert kinds.count("repo.added") == 1
