"""An index made anew says the same about which files there are, whatever form it has."""

from pathlib import Path

import pytest

from codefleet.runner.git.trusted_index import renew_index
from tests.gitrepo import SampleRepo, make_repo

FILES = {"a.txt": "a\n", "deep/ünder/b": "b\n", "new\nline": "c\n"}
LIST = ("ls-files", "-v", "--stage", "-z")
LONG = f"100644,{{blob}},{'long/' * 900}x"
FORMS = {
    "that git writes": (),
    "with compressed names": ("update-index", "--index-version=4"),
    "split in two": ("update-index", "--split-index"),
    "with conflicts": ("read-tree", "-m", "main~1", "main", "side"),
    "with a link": ("update-index", "--add", "--cacheinfo", "120000,{blob},link"),
    "with a long name": ("update-index", "--add", "--cacheinfo", LONG),
}


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    repo = make_repo(tmp_path / "repo", FILES)
    repo.git("branch", "side")
    for branch in ("side", "main"):
        repo.git("checkout", "--quiet", branch)
        repo.write("a.txt", f"{branch}\n")
        repo.commit(branch)
    return repo


def _renewed(repo: SampleRepo) -> tuple[str, str]:
    """The list of its files, before and after."""
    before = repo.git(*LIST)
    renew_index(repo.path, [entry for entry in before.split("\0") if entry])
    return before, repo.git(*LIST)


@pytest.mark.parametrize("form", FORMS)
def test_an_index_keeps_its_files(repo: SampleRepo, form: str) -> None:
    words = [word.format(blob=repo.git("rev-parse", "main:a.txt")) for word in FORMS[form]]
    if words:
        repo.git(*words)
    before, after = _renewed(repo)
    assert after == before


def test_an_index_with_long_ids_keeps_its_files(tmp_path: Path) -> None:
    repo = SampleRepo(tmp_path)
    repo.git("init", "--quiet", "--object-format=sha256")
    repo.write("a.txt", "a\n")
    repo.git("add", "a.txt")
    before, after = _renewed(repo)
    assert after == before


def test_an_index_without_files_stays_so(repo: SampleRepo) -> None:
    repo.git("read-tree", "--empty")
    assert _renewed(repo) == ("", "")
