"""The git settings that the fleet keeps: always those that the user has now."""

from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from codefleet.runner.git.config_guard import SharedSettings
from codefleet.runner.git.git import Git
from codefleet.runner.git.setting_files import LARGEST
from codefleet.runner.git.trusted_view import guard
from tests.gitrepo import SampleRepo, make_repo
from tests.runner.forged import rewrite_unnoticed


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    guard(tmp_path / "home")
    (tmp_path / "home" / "settings").mkdir(parents=True)
    return make_repo(tmp_path / "repo")


async def _nobody() -> Collection[str]:
    return ()


async def _run(repo: SampleRepo, number: int) -> SharedSettings:
    """A run that changes nothing."""
    settings = SharedSettings(repo.path, repo.path.with_name("home") / "settings" / "repo.json")
    await settings.begin(f"k3.{number}", _nobody)
    await settings.finish(f"k3.{number}")
    return settings


def behind_a_link(repo: SampleRepo) -> Path:
    config, target = repo.path / ".git" / "config", repo.path.with_name("settings")
    config.rename(target)
    config.symlink_to(target)
    return target


def included(repo: SampleRepo) -> Path:
    target = repo.path.with_name("settings")
    target.write_text("[user]\n\tname = Ada Sample\n")
    repo.git("config", "include.path", str(target))
    return target


def included_in_turn(repo: SampleRepo) -> Path:
    target, between = included(repo), repo.path.with_name("between")
    between.write_text(f"[include]\n\tpath = {target}\n")
    repo.git("config", "include.path", str(between))
    return target


def included_conditionally(repo: SampleRepo) -> Path:
    target = included(repo)
    repo.git("config", "--unset", "include.path")
    repo.git("config", f"includeIf.gitdir:{repo.path}/.path", str(target))
    return target


def very_long(repo: SampleRepo) -> Path:
    config = repo.path / ".git" / "config"
    config.write_text(f"{config.read_text()}#{'x' * LARGEST}\n")
    return config


PLACES: list[Callable[[SampleRepo], Path]] = [
    *(behind_a_link, included, included_in_turn, included_conditionally, very_long)
]


@pytest.mark.parametrize("place", PLACES)
async def test_the_fleets_git_knows_what_the_user_changed_wherever_it_is(
    repo: SampleRepo, place: Callable[[SampleRepo], Path]
) -> None:
    file = place(repo)
    await _run(repo, 1)
    await _run(repo, 2)
    assert "Ada Sample" in await Git(repo.path)("var", "GIT_COMMITTER_IDENT")
    rewrite_unnoticed(file, file.read_text().replace("Ada Sample", "Eve Sample"))
    await _run(repo, 3)
    assert "Eve Sample" in await Git(repo.path)("var", "GIT_COMMITTER_IDENT")


@pytest.mark.parametrize("place", PLACES)
async def test_what_an_agent_changes_there_does_not_reach_the_fleets_git(
    repo: SampleRepo, place: Callable[[SampleRepo], Path]
) -> None:
    file = place(repo)
    settings = await _run(repo, 1)
    await settings.begin("k3.2", _nobody)
    file.write_text(file.read_text().replace("Ada Sample", "Eve Sample"))
    assert "Ada Sample" in await Git(repo.path)("var", "GIT_COMMITTER_IDENT")


async def test_a_hook_too_long_to_keep_that_is_changed_in_place_is_told(repo: SampleRepo) -> None:
    hook = repo.write(".git/hooks/pre-push", "#" * (LARGEST + 1))
    settings = await _run(repo, 1)
    await settings.begin("k3.2", _nobody)
    rewrite_unnoticed(hook, "!" * (LARGEST + 1))
    assert (await settings.compare()).left == ["hooks/pre-push"]
