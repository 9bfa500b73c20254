"""The settings that a repo has on its trunk."""

from pathlib import Path

from codefleet.domain.model import Repo
from codefleet.runner.git.trunk_file import stamp
from tests.gitrepo import make_repo
from tests.runner.forged import rewrite_unnoticed


def test_a_trunk_that_an_agent_moved_without_git_is_seen_to_have_moved(tmp_path: Path) -> None:
    made = make_repo(tmp_path / "shop")
    repo, ref = Repo(name="shop", path=str(made.path), trunk="main"), made.path / ".git/refs/heads"
    before = stamp(repo)
    rewrite_unnoticed(ref / "main", f"{made.git('commit-tree', 'main^{tree}', '-m', 'other')}\n")
    assert stamp(repo) != before
