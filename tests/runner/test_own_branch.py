"""Whatever others do to a branch, a worktree continues from what its own git left there."""

from pathlib import Path

import pytest

from codefleet.runner.git.own_branch import detach, rejoin, restore_own, save_own
from tests.gitrepo import SampleRepo, make_repo

OURS, THEIRS = "fleet/x", "fleet/y"


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    return make_repo(tmp_path / "repo", {"a.txt": "a\n"})


@pytest.fixture
def worktree(repo: SampleRepo, tmp_path: Path) -> Path:
    path = tmp_path / "1"
    repo.git("worktree", "add", "--quiet", "-b", OURS, str(path))
    return path


@pytest.fixture
def theirs(repo: SampleRepo, tmp_path: Path) -> str:
    """The work of another task, which starts from the same commit."""
    path = tmp_path / "2"
    repo.git("worktree", "add", "--quiet", "-b", THEIRS, str(path))
    repo.write("theirs.txt", "theirs\n", at=path)
    return repo.commit("theirs", at=path)


async def test_a_branch_put_onto_the_work_of_another_task_is_restored(
    repo: SampleRepo, worktree: Path, theirs: str
) -> None:
    before = repo.sha(OURS)
    repo.git("update-ref", f"refs/heads/{OURS}", theirs)
    told = await restore_own(worktree, OURS, "x-moved", None)
    assert told is not None
    assert repo.sha(OURS) == before
    assert repo.sha("refs/fleet/archive/x-moved") == theirs
    assert repo.git("status", "--porcelain", at=worktree) == ""


async def test_a_deleted_branch_is_restored_where_its_worktree_was(
    repo: SampleRepo, worktree: Path
) -> None:
    tip = repo.commit("ours", at=worktree)
    repo.git("update-ref", "-d", f"refs/heads/{OURS}")
    assert await restore_own(worktree, OURS, "x-moved", None)
    assert repo.sha(OURS) == tip


async def test_a_lock_that_a_killed_git_left_does_not_keep_a_worktree_on_its_branch(
    repo: SampleRepo, worktree: Path
) -> None:
    (repo.path / ".git" / "worktrees" / "1" / "HEAD.lock").touch()
    assert await detach(worktree, OURS)
    assert repo.git("branch", "--show-current", at=worktree) == ""


async def test_commits_of_a_program_that_writes_no_log_stay(
    repo: SampleRepo, worktree: Path
) -> None:
    repo.git("config", "core.logAllRefUpdates", "false")
    (repo.path / ".git" / "logs" / "refs" / "heads" / OURS).unlink()
    log = repo.path / ".git" / "worktrees" / "1" / "logs" / "HEAD"
    before = log.read_text()
    repo.write("ours.txt", "ours\n", at=worktree)
    tip = repo.commit("ours", at=worktree)
    log.write_text(before)
    assert await restore_own(worktree, OURS, "x-moved", None) is None
    assert repo.sha(OURS) == tip


@pytest.mark.parametrize("fault", ["moved", "deleted"])
async def test_edits_are_saved_apart_from_what_others_do_to_the_branch(
    repo: SampleRepo, worktree: Path, theirs: str, fault: str
) -> None:
    base = repo.sha("main")
    repo.write("ours.txt", "ours\n", at=worktree)
    change = {"moved": [theirs], "deleted": []}[fault]
    repo.git("update-ref", *(["-d"] if not change else []), f"refs/heads/{OURS}", *change)
    saved = await save_own(worktree, OURS, "saved")
    assert saved
    assert repo.sha(f"{saved}^") == base
    assert repo.git("ls-tree", "-r", "--name-only", saved).split() == ["a.txt", "ours.txt"]
    assert repo.reachable(saved) or repo.sha("HEAD", at=worktree) == saved


async def test_edits_are_saved_on_the_branch_that_nobody_touched(
    repo: SampleRepo, worktree: Path
) -> None:
    repo.write("ours.txt", "ours\n", at=worktree)
    saved = await save_own(worktree, OURS, "saved")
    assert repo.sha(OURS) == saved
    assert repo.git("symbolic-ref", "--short", "HEAD", at=worktree) == OURS


async def test_commits_made_on_top_of_the_work_of_others_are_put_back_onto_their_own(
    repo: SampleRepo, worktree: Path, theirs: str
) -> None:
    base = repo.sha("main")
    repo.write("ours.txt", "ours\n", at=worktree)
    repo.git("update-ref", f"refs/heads/{OURS}", theirs)
    mixed = repo.commit("ours", at=worktree)
    assert await rejoin(worktree, "main", "x-unrelated", "again")
    assert repo.sha(f"{OURS}^") == base
    assert repo.git("diff", "--name-only", "main", OURS) == "ours.txt"
    assert repo.sha("refs/fleet/archive/x-unrelated") == mixed
    assert await rejoin(worktree, "main", "x-unrelated", "again") is None


async def test_an_agent_that_builds_on_the_work_of_others_itself_is_left_alone(
    repo: SampleRepo, worktree: Path, theirs: str
) -> None:
    repo.git("reset", "--quiet", "--hard", theirs, at=worktree)
    repo.write("ours.txt", "ours\n", at=worktree)
    tip = repo.commit("ours", at=worktree)
    assert await rejoin(worktree, "main", "x-unrelated", "again") is None
    assert repo.sha(OURS) == tip


async def test_a_branch_that_others_move_while_a_worktree_is_put_onto_it_is_restored(
    repo: SampleRepo, worktree: Path, theirs: str
) -> None:
    base = repo.sha("main")
    repo.git("checkout", "--quiet", "--detach", at=worktree)
    repo.git("update-ref", f"refs/heads/{OURS}", theirs)
    repo.git("symbolic-ref", "-m", "fleet: start", "HEAD", f"refs/heads/{OURS}", at=worktree)
    assert await restore_own(worktree, OURS, "x-moved", None)
    assert repo.sha(OURS) == base
