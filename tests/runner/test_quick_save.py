"""The quick way to save work: whatever an agent wrote into its index, nothing changed is missed."""

from collections.abc import AsyncIterator, Collection
from pathlib import Path

import pytest

from codefleet.runner.git.config_guard import SharedSettings
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.object_reader import readers_kept_open
from codefleet.runner.git.quick_save import Saved, Work, advance_branch, commit_all, is_still_saved
from codefleet.runner.git.salvage import salvage
from codefleet.runner.git.trusted_index import note_index
from codefleet.runner.git.trusted_view import guard
from tests.gitrepo import SampleRepo, make_repo
from tests.runner.forged import WAYS, by_a_filter, by_a_flag, set_back
from tests.runner.yard import until

BRANCH = "fleet/k3"
ALSO = "refs/fleet/runs/k3.1"
FILES = {"a.txt": "old\n", "windows.txt": "a line end that git would change\r\n"}


async def _nobody() -> Collection[str]:
    return ()


@pytest.fixture
async def repo(tmp_path: Path) -> AsyncIterator[SampleRepo]:
    """A repository of which the fleet has a view."""
    repo = make_repo(tmp_path / "repo", FILES)
    repo.git("config", "core.trustctime", "false")
    guard(tmp_path / "home")
    (tmp_path / "home" / "settings").mkdir(parents=True)
    note = tmp_path / "home" / "settings" / "repo.json"
    await SharedSettings(repo.path, note).begin("k3.1", _nobody)
    async with readers_kept_open():
        yield repo


@pytest.fixture
async def worktree(repo: SampleRepo, tmp_path: Path) -> Path:
    """A worktree that was prepared a second ago, and in which an agent starts now."""
    path = tmp_path / "1"
    repo.git("worktree", "add", "--quiet", "-b", BRANCH, str(path))
    index = git_dir(path) / "index"

    def a_second_has_passed() -> bool:
        index.touch()  # only git's own index is as old as its files
        return int(index.stat().st_mtime) > max(int((path / it).stat().st_ctime) for it in FILES)

    await until(a_second_has_passed)
    note_index(path)
    return path


async def _commit(repo: SampleRepo, worktree: Path) -> Work:
    work = await commit_all(worktree, BRANCH, repo.sha("main"), "Save")
    assert work
    return work


async def _save(repo: SampleRepo, worktree: Path) -> Saved:
    saved = await advance_branch(worktree, BRANCH, await _commit(repo, worktree), ALSO)
    assert saved
    return saved


@pytest.mark.parametrize("quickly", [True, False], ids=["quickly", "by the long way"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_change_that_an_index_hides_is_saved(
    repo: SampleRepo, worktree: Path, way: str, quickly: bool
) -> None:
    file = repo.write("a.txt", "new\n", at=worktree)
    WAYS[way](repo, file)
    assert repo.git("write-tree", at=worktree) == repo.git("rev-parse", "main^{tree}")
    await (_save(repo, worktree) if quickly else salvage(worktree, "Save"))
    assert repo.read(BRANCH, "a.txt") == "new\n"


async def test_a_flag_that_hides_a_change_is_left_to_the_long_way(
    repo: SampleRepo, worktree: Path
) -> None:
    by_a_flag(repo, repo.write("a.txt", "new\n", at=worktree))
    assert await commit_all(worktree, BRANCH, repo.sha("main"), "Save") is None
    assert await salvage(worktree, "Save")
    assert repo.read(BRANCH, "a.txt") == "new\n"


async def test_a_change_of_the_same_size_is_saved_although_its_time_is_set_back(
    repo: SampleRepo, worktree: Path
) -> None:
    time = (worktree / "a.txt").stat().st_mtime_ns
    set_back(repo.write("a.txt", "new\n", at=worktree), time)
    assert repo.git("status", "--porcelain", at=worktree) == ""
    await _save(repo, worktree)
    assert repo.read(BRANCH, "a.txt") == "new\n"


async def test_files_that_nobody_touched_are_not_read_again(
    repo: SampleRepo, worktree: Path
) -> None:
    """Git would normalize line ends, or put large files elsewhere, in files it has no reason to."""
    repo.write(".gitattributes", "windows.txt text\n", at=worktree)
    repo.write("a.txt", "new\n", at=worktree)
    repo.git("add", "a.txt", at=worktree)
    saved = await _save(repo, worktree)
    changed = repo.git("diff", "--name-only", "main", saved.tip).split()
    assert changed == [".gitattributes", "a.txt"]


async def test_an_index_that_was_forged_in_place_shows_that_work_may_not_be_saved(
    repo: SampleRepo, worktree: Path, tmp_path: Path
) -> None:
    repo.write("a.txt", "new\n", at=worktree)
    saved = await _save(repo, worktree)
    assert await is_still_saved(worktree, BRANCH, saved)
    index, same = git_dir(worktree) / "index", tmp_path / "same file"
    before = index.stat()
    same.hardlink_to(index)
    by_a_filter(repo, repo.write("a.txt", "lost\n", at=worktree))
    repo.git("write-tree", at=worktree)
    same.write_bytes(index.read_bytes())
    set_back(same.replace(index), before.st_mtime_ns)
    after = index.stat()
    assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)
    assert repo.git("status", "--porcelain", at=worktree) == ""
    assert not await is_still_saved(worktree, BRANCH, saved)


async def test_work_is_not_saved_if_its_index_changed_before_its_branch_moved(
    repo: SampleRepo, worktree: Path
) -> None:
    repo.write("a.txt", "new\n", at=worktree)
    work = await _commit(repo, worktree)
    by_a_filter(repo, repo.write("a.txt", "newer\n", at=worktree))
    saved = await advance_branch(worktree, BRANCH, work, ALSO)
    assert saved
    assert not await is_still_saved(worktree, BRANCH, saved)
