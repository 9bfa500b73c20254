"""A clone without all files: what is not here is missing, and nobody asks the remote for it."""

import asyncio
import select
import socket
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git import trunk_file
from codefleet.runner.git.config_guard import SharedSettings
from codefleet.runner.git.git import Git
from codefleet.runner.git.lookup import commit_at, is_ancestor, merge_base
from codefleet.runner.git.object_reader import look_up, readers_kept_open
from codefleet.runner.git.trunk_file import at_commit
from codefleet.runner.git.trusted_view import guard
from codefleet.runner.git.worktree_pool import Pool
from tests.gitrepo import SampleRepo, make_repo

NOWHERE = "1" * 40
BOUND_S = 60.0


class Remote:
    """A server that every connection reaches, and that never answers."""

    def __init__(self, door: socket.socket) -> None:
        self._door = door
        self.address = f"git://127.0.0.1:{door.getsockname()[1]}/shop"

    @property
    def was_asked(self) -> bool:
        return bool(select.select([self._door], [], [], 0)[0])


@pytest.fixture
def remote() -> Iterator[Remote]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        yield Remote(door)


@pytest.fixture
async def repo(tmp_path: Path, remote: Remote) -> SampleRepo:
    """A clone that has the commits, and no files."""
    whole = make_repo(tmp_path / "whole", {"fleet.toml": "checks = []\n"})
    whole.git("config", "uploadpack.allowFilter", "true")
    clone = ("clone", "--quiet", "--no-checkout", "--filter=blob:none")
    whole.git(*clone, f"file://{whole.path}", str(tmp_path / "shop"))
    repo = SampleRepo(tmp_path / "shop")
    await _set_remote(repo, remote.address)
    return repo


async def _set_remote(repo: SampleRepo, address: str) -> None:
    """Set it before an agent works, so that the fleet's git knows it."""
    repo.git("remote", "set-url", "origin", address)
    home = repo.path.with_name("home")
    guard(home)
    (home / "settings").mkdir(parents=True, exist_ok=True)
    await SharedSettings(repo.path, home / "settings" / "shop.json").begin("k3.1", _nobody)


async def _nobody() -> Collection[str]:
    return ()


async def _no_paths() -> Collection[Path]:
    return ()


async def test_a_reader_says_at_once_what_is_missing(repo: SampleRepo, remote: Remote) -> None:
    async with readers_kept_open():
        assert await look_up(repo.path, NOWHERE) == [None]
        assert await look_up(repo.path, "refs/heads/main:fleet.toml") is None  # it cannot tell
        assert await commit_at(Git(repo.path), "refs/heads/main") == repo.sha("main")
    assert not remote.was_asked


async def test_a_git_says_at_once_what_is_missing(
    repo: SampleRepo, remote: Remote, tmp_path: Path
) -> None:
    git, pool = Git(repo.path), Pool(repo.path, tmp_path / "pool", tmp_path / "locks" / "shop")
    async with asyncio.timeout(BOUND_S):
        assert await commit_at(git, NOWHERE) is None
        assert not await is_ancestor(git, NOWHERE, "refs/heads/main")
        assert await merge_base(git, NOWHERE, "refs/heads/main") is None
        with pytest.raises(WorkspaceTrouble, match="there is no commit"):
            await pool.take("fleet/k3", NOWHERE, in_use=_no_paths)
    assert not remote.was_asked


async def test_settings_that_a_remote_does_not_send_are_not_waited_for(
    repo: SampleRepo, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trunk_file, "LONGEST_S", 0.5)
    async with asyncio.timeout(BOUND_S):
        assert await at_commit(repo.path, "refs/heads/main") is None
    assert remote.was_asked


async def test_files_are_fetched_for_a_worktree(repo: SampleRepo, tmp_path: Path) -> None:
    await _set_remote(repo, f"file://{tmp_path / 'whole'}")
    pool = Pool(repo.path, tmp_path / "pool", tmp_path / "locks" / "shop")
    path = await pool.take("fleet/k3", "main", in_use=_no_paths)
    assert (path / "fleet.toml").read_text() == "checks = []\n"
