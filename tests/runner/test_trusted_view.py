"""Which repository a folder belongs to, whatever an agent does to the names that lead there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from codefleet.runner.git.layout import common_dir, git_dir
from codefleet.runner.git.trusted_view import common_dir_of, git_dir_of
from tests.gitrepo import SampleRepo, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    return make_repo(tmp_path / "repo")


@pytest.fixture
def other(tmp_path: Path) -> SampleRepo:
    return make_repo(tmp_path / "other")


@pytest.fixture
def worktree(repo: SampleRepo, tmp_path: Path) -> Path:
    repo.git("worktree", "add", "--detach", str(tmp_path / "slots" / "one"))
    return tmp_path / "slots" / "one"


def point_elsewhere(worktree: Path, other: SampleRepo) -> None:
    (worktree / ".git").write_text(f"gitdir: {other.path}/.git\n")


def link_elsewhere(worktree: Path, other: SampleRepo) -> None:
    (worktree / ".git").unlink()
    (worktree / ".git").symlink_to(other.path / ".git")


def share_with_another(worktree: Path, other: SampleRepo) -> None:
    (git_dir(worktree) / "commondir").write_text(f"{other.path}/.git\n")


def replace_its_parent(worktree: Path, other: SampleRepo) -> None:
    worktree.parent.rename(worktree.parent.with_name("moved"))
    (other.path.parent / "slots").symlink_to(other.path.parent / "elsewhere")
    (other.path.parent / "elsewhere").mkdir()
    worktree.symlink_to(other.path)


def replace_the_records(worktree: Path, other: SampleRepo) -> None:
    records = git_dir(worktree)
    records.rename(records.with_name("moved"))
    records.symlink_to(other.path / ".git")


@pytest.mark.parametrize(
    "turn",
    [
        point_elsewhere,
        link_elsewhere,
        share_with_another,
        replace_its_parent,
        replace_the_records,
    ],
)
def test_a_worktree_that_is_turned_to_another_repository_between_two_questions_is_noticed(
    turn: Callable[[Path, SampleRepo], None], worktree: Path, repo: SampleRepo, other: SampleRepo
) -> None:
    for _ in range(2):
        assert common_dir_of(worktree) == repo.path / ".git"
        assert common_dir(git_dir(worktree)) == repo.path / ".git"
    turn(worktree, other)
    for _ in range(2):
        assert common_dir_of(worktree) == other.path / ".git"
        assert common_dir(git_dir(worktree)) == other.path / ".git"


def test_a_worktree_whose_repository_goes_and_comes_back_is_found_again(
    worktree: Path, repo: SampleRepo
) -> None:
    records = git_dir_of(worktree)
    repo.path.rename(repo.path.with_name("away"))
    assert git_dir_of(worktree) is None
    repo.path.with_name("away").rename(repo.path)
    assert git_dir_of(worktree) == records


def test_a_link_to_a_repository_is_followed_to_where_it_leads_now(
    repo: SampleRepo, other: SampleRepo, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    for target in (repo, other, repo):
        link.symlink_to(target.path)
        assert git_dir_of(link) == git_dir(link) == target.path / ".git"
        link.unlink()
    assert git_dir_of(link) is None
