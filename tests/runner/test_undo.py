"""What checks did is undone, and nothing else."""

from pathlib import Path

import pytest

from codefleet.runner.git.undo import Undone, undo
from tests.gitrepo import SampleRepo, make_repo
from tests.runner.forged import by_a_filter


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    made = make_repo(tmp_path / "repo", {"a.txt": "a\n", ".gitignore": "*.log\n"})
    made.git("checkout", "--quiet", "-b", "fleet/k3")
    return made


async def test_a_worktree_that_nobody_touched_is_left_alone(repo: SampleRepo) -> None:
    assert await undo(repo.path, "fleet/k3", repo.sha("HEAD"), "k3") == Undone()


async def test_what_git_ignores_and_repositories_inside_stay(
    repo: SampleRepo, tmp_path: Path
) -> None:
    inner = make_repo(repo.path / "vendor" / "inner", {"lib.txt": "lib\n"})
    repo.write("build.log", "cached\n")
    repo.write("report.txt", "new\n")
    undone = await undo(repo.path, "fleet/k3", repo.sha("HEAD"), "k3")
    assert undone == Undone(paths=("report.txt",))
    assert inner.read("main", "lib.txt") == "lib\n"
    assert (repo.path / "build.log").exists()
    assert not (repo.path / "report.txt").exists()


async def test_commits_on_the_branch_and_away_from_it_are_archived(repo: SampleRepo) -> None:
    tip = repo.sha("HEAD")
    repo.write("a.txt", "on the branch\n")
    on = repo.commit("on")
    repo.git("checkout", "--quiet", "--detach", tip)
    repo.write("b.txt", "away\n")
    away = repo.commit("away")
    undone = await undo(repo.path, "fleet/k3", tip, "k3")
    assert undone.paths == ("a.txt", "b.txt")
    assert {repo.sha(ref) for ref in undone.kept} == {on, away}
    assert repo.sha("fleet/k3") == tip
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/fleet/k3"


async def test_a_change_that_a_check_hid_is_undone_and_kept(repo: SampleRepo) -> None:
    tip = repo.sha("HEAD")
    by_a_filter(repo, repo.write("a.txt", "hidden\n"))
    assert repo.git("status", "--porcelain") == ""
    undone = await undo(repo.path, "fleet/k3", tip, "k3")
    assert undone.paths == ("a.txt",)
    assert [repo.read(ref, "a.txt") for ref in undone.kept] == ["hidden\n"]
    assert (repo.path / "a.txt").read_text() == "a\n"
