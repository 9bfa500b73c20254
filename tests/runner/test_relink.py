"""Whether a worktree and its repository know each other."""

import os
from pathlib import Path

from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.relink import is_tied, relink
from tests.gitrepo import make_repo


async def test_a_worktree_that_git_knows_is_left_as_it_is(tmp_path: Path) -> None:
    repo, tree = make_repo(tmp_path / "shop"), tmp_path / "trees" / "1"
    repo.git("worktree", "add", "-q", "-b", "fleet/x", str(tree))
    assert await relink(repo.path, tree, "fleet/x", tmp_path / "aside") is None
    notes = git_dir(tree)
    (notes / "gitdir").write_text(f"{os.path.relpath(tree / '.git', notes)}\n")  # as newer gits do
    assert await relink(repo.path, tree, "fleet/x", tmp_path / "aside") is None
    (tmp_path / "link").symlink_to(tmp_path / "trees")
    assert await relink(repo.path, tmp_path / "link" / "1", "fleet/x", tmp_path / "aside") is None


def test_a_link_that_is_no_text_ties_nothing(tmp_path: Path) -> None:
    repo, worktree = make_repo(tmp_path / "shop"), tmp_path / "1"
    repo.git("worktree", "add", "--quiet", str(worktree))
    assert is_tied(repo.path, worktree)
    (worktree / ".git").write_bytes(b"gitdir: \xff\n")
    assert not is_tied(repo.path, worktree)
