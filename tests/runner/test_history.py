"""Near commits are compared as git compares them, whatever their dates say."""

import random
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import pytest

from codefleet.runner.git.config_guard import SharedSettings
from codefleet.runner.git.git import Git
from codefleet.runner.git.history import NEAR, is_near, is_near_ancestor, line
from codefleet.runner.git.object_reader import readers_kept_open
from codefleet.runner.git.trusted_view import guard
from tests.gitrepo import SampleRepo, make_repo

COMMITS = 24


async def _nobody() -> Collection[str]:
    return ()


@pytest.fixture
async def repo(tmp_path: Path) -> AsyncIterator[SampleRepo]:
    """A repository of which the fleet has a view, with a reader."""
    repo = make_repo(tmp_path / "shop")
    guard(tmp_path / "home")
    (tmp_path / "home" / "settings").mkdir(parents=True)
    note = tmp_path / "home" / "settings" / "shop.json"
    await SharedSettings(repo.path, note).begin("r", _nobody)
    async with readers_kept_open():
        yield repo


async def some_history(repo: SampleRepo, chance: random.Random) -> list[str]:
    """Commits with one to three parents among the last ones, and dates in any order."""
    made = [repo.sha("main")]
    for number in range(COMMITS):
        count = chance.choice([1, 1, 1, 2, 3])
        parents = {chance.choice(made[-5:]) for _ in range(count)}
        words = [word for parent in parents for word in ("-p", parent)]
        date = {"GIT_COMMITTER_DATE": f"{1_700_000_000 + chance.randrange(1000)} +0000"}
        words = ["commit-tree", "main^{tree}", *words, "-m", str(number)]
        made.append(await Git(repo.path)(*words, env=date))
    return made


@pytest.mark.parametrize("seed", [0, *(pytest.param(it, marks=pytest.mark.slow) for it in (1, 2))])
async def test_any_history_is_compared_as_git_compares_it(repo: SampleRepo, seed: int) -> None:
    chance, git = random.Random(seed), Git(repo.path)
    made = await some_history(repo, chance)
    within = {each: {*repo.git("rev-list", each).split()} for each in made}
    for commit in made:
        for of in made:
            assert await is_near(git, commit, of) is (commit in within[of])
    for tip in made:
        others = chance.sample(made, 2)
        own = within[tip] - within[others[0]] - within[others[1]]
        found = await line(git, tip, *others)
        if found is not None:
            assert {*found} == own
            assert found[:1] in ([], [tip])
        parents = {each: repo.git("rev-parse", f"{each}^@").split() for each in own}
        is_straight = all(len(above) == 1 for above in parents.values())
        assert (found is not None) is is_straight


async def test_commits_that_are_far_from_each_other_are_left_to_git(repo: SampleRepo) -> None:
    git, first = Git(repo.path), repo.sha("main")
    tip = first
    for number in range(NEAR + 1):
        tip = repo.git("commit-tree", "main^{tree}", "-p", tip, "-m", str(number))
    assert await is_near_ancestor(git, first, tip) is None
    assert await line(git, tip, first) is None


async def test_a_commit_that_is_not_here_is_left_to_git(repo: SampleRepo) -> None:
    git, first = Git(repo.path), repo.sha("main")
    assert await is_near(git, "0" * 40, first) is None
    assert await line(git, first, "0" * 40) is None
