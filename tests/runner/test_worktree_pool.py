"""The pool: a clean folder for every run, reused, and nothing is ever lost."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import pytest

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git import slot, worktree_pool
from codefleet.runner.git.git import Git
from codefleet.runner.git.included_files import IncludedFiles
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.new_branch import branch_name
from codefleet.runner.git.own_branch import detach
from codefleet.runner.git.slot_handover import Occupied
from codefleet.runner.git.slots import is_work_of_another
from codefleet.runner.git.worktree_pool import Pool
from codefleet.runner.process.leftovers import put_mark
from tests.gitrepo import SampleRepo, make_repo
from tests.runner.forged import by_a_filter
from tests.trap import Trap


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    return make_repo(
        tmp_path / "repo",
        {"a.txt": "a\n", "src/b.txt": "b\n", ".gitignore": "*.log\ncache/\n.env\n"},
    )


@pytest.fixture
def pool(repo: SampleRepo, tmp_path: Path) -> Pool:
    return Pool(repo.path, tmp_path / "pool", tmp_path / "locks" / "repo")


async def nobody() -> Collection[Path]:
    return ()


def sleeper(folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["sleep", "600"], cwd=folder, env={"PATH": os.environ["PATH"]})


def files(path: Path) -> set[str]:
    return {
        str(each.relative_to(path))
        for each in path.rglob("*")
        if each.is_file() and each.name != ".git"
    }


ALL = {"a.txt", "src/b.txt", ".gitignore"}


async def test_a_first_run_gets_a_new_worktree_on_a_new_branch(
    pool: Pool, repo: SampleRepo
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    assert files(path) == ALL
    assert repo.git("symbolic-ref", "HEAD", at=path) == "refs/heads/fleet/x"
    assert repo.git("status", "--porcelain", at=path) == ""
    assert repo.sha("fleet/x") == repo.sha("main")
    assert "[branch" not in (repo.path / ".git" / "config").read_text()
    assert [each.branch for each in await pool.slots()] == ["fleet/x"]


async def test_runs_at_the_same_time_never_share_a_worktree(pool: Pool) -> None:
    paths = await asyncio.gather(
        *(pool.take(f"fleet/{n}", "main", in_use=nobody) for n in range(6))
    )
    assert len(set(paths)) == 6
    assert {each.branch for each in await pool.slots()} == {f"fleet/{n}" for n in range(6)}


async def test_a_released_worktree_is_used_again_with_nothing_left_of_the_last_run(
    pool: Pool, repo: SampleRepo
) -> None:
    first = await pool.take("fleet/one", "main", in_use=nobody)
    repo.write("build.log", "ignored", at=first)
    repo.write("cache/deep/x", "ignored folder", at=first)
    repo.write("new/file", "untracked", at=first)
    await pool.release(first)
    second = await pool.take("fleet/two", "main", in_use=nobody)
    assert second == first
    assert files(second) == ALL
    assert repo.git("status", "--porcelain", "--ignored", at=second) == ""
    assert repo.saved("new/file") == {"untracked"}


async def test_a_change_that_an_agent_hid_is_saved_and_gone_for_the_next_run(
    pool: Pool, repo: SampleRepo
) -> None:
    first = await pool.take("fleet/one", "main", in_use=nobody)
    by_a_filter(repo, repo.write("a.txt", "hidden\n", at=first))
    await pool.release(first)
    second = await pool.take("fleet/two", "main", in_use=nobody)
    assert second == first
    assert (second / "a.txt").read_text() == "a\n"
    assert repo.read("fleet/one", "a.txt") == "hidden\n"


SNAPSHOT = """
import asyncio, sys
from pathlib import Path
from codefleet.runner.git.snapshot import snapshot
asyncio.run(snapshot(Path(sys.argv[1])))
"""


async def test_what_a_process_killed_during_a_snapshot_left_is_gone_for_the_next_run(
    pool: Pool, trap: Trap, tmp_path: Path
) -> None:
    path = await pool.take("fleet/one", "main", in_use=nobody)
    trap.plan('case "$*" in *" add "*) kill -9 $PPID; exit 1 ;; esac')
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    words = (sys.executable, "-c", SNAPSHOT, str(path))
    process = await asyncio.create_subprocess_exec(*words, env=environment)
    assert await process.wait() == -signal.SIGKILL
    trap.plan("")
    assert [*(tmp_path / "temporary").iterdir()] == []
    assert [*git_dir(path).glob("fleet-*")] != []
    await pool.release(path)
    assert await pool.take("fleet/two", "main", in_use=nobody) == path
    assert [*git_dir(path).glob("fleet-*")] == []


TAKE = """
import asyncio, sys
from pathlib import Path
from codefleet.runner.git.worktree_pool import Pool

async def nobody():
    return ()

async def main(repo, folder, locks, branch):
    await Pool(Path(repo), Path(folder), Path(locks)).take(branch, "main", in_use=nobody)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("is_on_branch", [True, False])
async def test_a_runner_killed_before_it_saved_a_worktree_does_not_pass_the_work_in_it_for_its_own(
    pool: Pool, repo: SampleRepo, trap: Trap, tmp_path: Path, is_on_branch: bool
) -> None:
    repo.git("branch", "fleet/next", "main")
    path = await pool.take("fleet/first", "main", in_use=nobody, run="first.1")
    (path / "first.txt").write_text("work")
    if not is_on_branch:  # as while a run is being prepared
        await detach(path, "fleet/first")
    pool.locks.drop_all()  # as the kernel does when a runner is killed
    trap.plan('case "$*" in *status*) kill -9 $PPID; exit 1 ;; esac')
    places = (repo.path, tmp_path / "pool", tmp_path / "locks" / "repo")
    words = (sys.executable, "-c", TAKE, *map(str, places), "fleet/next")
    process = await asyncio.create_subprocess_exec(*words)
    assert await process.wait() == -signal.SIGKILL
    trap.plan("")
    taken = await pool.take("fleet/next", "main", in_use=nobody, run="next.2")
    assert files(taken) == ALL
    assert repo.read("fleet/first", "first.txt") == "work"


async def test_a_commit_made_in_another_worktree_is_anothers_work_though_no_ref_has_it(
    pool: Pool, repo: SampleRepo
) -> None:
    path = await pool.take("fleet/first", "main", in_use=nobody)
    repo.write("first.txt", "work", at=path)
    commit = repo.commit("work", at=path)
    repo.git("update-ref", "-d", "refs/heads/fleet/first")
    assert is_work_of_another(await pool.slots(), commit, "fleet/next")
    assert not is_work_of_another(await pool.slots(), commit, "fleet/first")
    assert not is_work_of_another(await pool.slots(), "0" * 40, "fleet/next")


async def test_caches_that_the_repo_names_survive_reuse(pool: Pool, repo: SampleRepo) -> None:
    first = await pool.take("fleet/one", "main", in_use=nobody)
    repo.write("cache/wheel", "slow to make", at=first)
    repo.write("build.log", "noise", at=first)
    await pool.release(first)
    second = await pool.take("fleet/two", "main", in_use=nobody, keep=["cache/"])
    assert files(second) == ALL | {"cache/wheel"}


async def test_a_branch_that_stands_in_a_worktree_goes_on_there_with_its_edits(
    pool: Pool, repo: SampleRepo
) -> None:
    first = await pool.take("fleet/x", "main", in_use=nobody)
    repo.write("a.txt", "half done", at=first)
    repo.write("build.log", "kept too", at=first)
    assert await pool.take("fleet/x", "main", in_use=nobody) == first
    assert (first / "a.txt").read_text() == "half done"
    assert (first / "build.log").read_text() == "kept too"


async def test_a_branch_that_exists_is_checked_out_where_it_is_and_not_moved(
    pool: Pool, repo: SampleRepo
) -> None:
    first = await pool.take("fleet/x", "main", in_use=nobody)
    repo.write("a.txt", "work", at=first)
    tip = repo.commit("work", at=first)
    await pool.release(first)
    repo.write("a.txt", "trunk moved on")
    repo.commit("trunk")
    again = await pool.take("fleet/x", "main", in_use=nobody)
    assert repo.sha("fleet/x") == tip
    assert (again / "a.txt").read_text() == "work"


async def test_releasing_frees_the_branch_for_deletion(pool: Pool, repo: SampleRepo) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    await pool.release(path)
    repo.git("branch", "-D", "fleet/x")
    assert [each.branch for each in await pool.slots()] == [None]


async def test_a_worktree_in_use_is_not_given_away_after_its_runner_died(pool: Pool) -> None:
    first = await pool.take("fleet/x", "main", in_use=nobody)
    pool.locks.drop(first)

    async def in_use() -> Collection[Path]:
        return [first]

    assert await pool.take("fleet/y", "main", in_use=in_use) != first


async def test_a_worktree_just_taken_is_not_given_away_before_anyone_wrote_it_down(
    pool: Pool,
) -> None:
    first = await pool.take("fleet/x", "main", in_use=nobody)
    assert await pool.take("fleet/y", "main", in_use=nobody) != first


async def test_a_worktree_that_another_process_holds_is_neither_given_back_nor_removed(
    pool: Pool, repo: SampleRepo, tmp_path: Path
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    repo.write("a.txt", "edit", at=path)
    other = Pool(repo.path, tmp_path / "pool", tmp_path / "locks" / "repo")
    for end in (other.release, other.remove):
        with pytest.raises(Occupied, match="in use"):
            await end(path)
    assert repo.git("symbolic-ref", "--short", "HEAD", at=path) == "fleet/x"
    assert (path / "a.txt").read_text() == "edit"
    pool.locks.drop(path)
    await other.remove(path)
    assert repo.read("fleet/x", "a.txt") == "edit"


async def test_a_branch_whose_worktree_another_process_holds_goes_on_in_another_one(
    pool: Pool, repo: SampleRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worktree_pool, "WAIT_FOR_HOLDER_S", 0.0)
    theirs = await pool.take("fleet/x", "main", in_use=nobody, run="x.1")
    tip = repo.commit("first", at=theirs)
    repo.write("a.txt", "unsaved\n", at=theirs)
    other = Pool(repo.path, tmp_path / "pool", tmp_path / "locks" / "repo")
    ours = await other.take("fleet/x", "main", in_use=nobody, run="x.2")
    assert ours != theirs
    assert repo.sha("HEAD^", at=ours) == tip
    assert (ours / "a.txt").read_text() == "unsaved\n"
    goes_on = repo.commit("second", at=ours)
    await pool.release(theirs)
    assert repo.sha("fleet/x") == goes_on


async def test_a_worktree_about_to_be_let_go_is_waited_for(
    pool: Pool, repo: SampleRepo, tmp_path: Path
) -> None:
    theirs = await pool.take("fleet/x", "main", in_use=nobody, run="x.1")
    repo.write("a.txt", "unsaved\n", at=theirs)
    looked = asyncio.Event()

    async def look() -> Collection[Path]:
        looked.set()
        return ()

    other = Pool(repo.path, tmp_path / "pool", tmp_path / "locks" / "repo")
    taking = asyncio.create_task(other.take("fleet/x", "main", in_use=look, run="x.2"))
    await looked.wait()
    pool.locks.drop(theirs)
    assert await taking == theirs
    assert (theirs / "a.txt").read_text() == "unsaved\n"


async def test_a_git_that_outlives_its_runner_keeps_the_worktree_until_it_ends(
    pool: Pool, repo: SampleRepo, tmp_path: Path
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody, run="x.1")
    git = await Git(path).start("cat-file", "--batch")
    pool.locks.drop(path)  # as the kernel does when the runner is killed
    other = Pool(repo.path, tmp_path / "pool", tmp_path / "locks" / "repo")
    assert not other.locks.take(path)
    await git.communicate(b"")
    assert other.locks.take(path)


async def test_a_run_gets_its_worktree_back_unless_another_run_has_it(
    pool: Pool, repo: SampleRepo, tmp_path: Path
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody, run="x.1")
    pool.locks.drop(path)
    other = Pool(repo.path, tmp_path / "pool", tmp_path / "locks" / "repo")
    assert await other.regain(path, "fleet/x", "x.1")
    assert not await pool.regain(path, "fleet/y", "y.1")
    other.locks.drop(path)
    assert await other.take("fleet/y", "main", in_use=nobody, run="y.1") == path
    assert not await pool.regain(path, "fleet/x", "x.1")
    other.locks.drop(path)
    assert not await pool.regain(path, "fleet/x", "x.1")


async def test_a_lock_whose_file_was_deleted_is_no_lock(
    pool: Pool, repo: SampleRepo, tmp_path: Path
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody, run="x.1")
    shutil.rmtree(tmp_path / "locks" / "slots")
    assert not pool.locks.is_whole(path)
    other = Pool(repo.path, tmp_path / "pool", tmp_path / "locks" / "repo")
    assert await other.regain(path, "fleet/y", "y.1")
    assert not await pool.regain(path, "fleet/x", "x.1")


async def test_a_mark_in_the_git_folder_does_not_make_a_worktree_clean(
    pool: Pool, repo: SampleRepo
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    (git_dir(path) / "fleet-clean").touch()
    repo.write("a.txt", "edit", at=path)
    pool.locks.drop(path)
    assert await pool.take("fleet/y", "main", in_use=nobody) == path
    assert repo.read("fleet/x", "a.txt") == "edit"


async def test_the_number_of_a_deleted_worktree_is_not_used_again_while_it_is_held(
    pool: Pool, tmp_path: Path, repo: SampleRepo
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    shutil.rmtree(path)
    other = Pool(repo.path, tmp_path / "pool", tmp_path / "locks" / "repo")
    assert await other.take("fleet/y", "main", in_use=nobody) != path


async def test_a_worktree_in_which_somebody_works_is_not_handed_on(pool: Pool) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    with sleeper(path) as shell:
        assert await pool.take("fleet/x", "main", in_use=nobody) == path
        await pool.release(path)
        assert await pool.take("fleet/y", "main", in_use=nobody) != path
        assert shell.poll() is None
        shell.kill()
    assert await pool.take("fleet/z", "main", in_use=nobody) == path


@pytest.mark.linux
async def test_what_the_last_run_left_at_work_in_a_worktree_is_ended_before_it_is_handed_on(
    pool: Pool,
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody, run="a-run-of-x")
    marked = sleeper(path)
    put_mark(marked.pid, "a-run-of-x")
    pool.locks.drop(path)
    assert await pool.take("fleet/y", "main", in_use=nobody, run="a-run-of-y") == path
    assert marked.wait(20) == -signal.SIGKILL


async def test_what_a_dead_run_left_is_saved_on_its_branch_before_reuse(
    pool: Pool, repo: SampleRepo
) -> None:
    first = await pool.take("fleet/dead", "main", in_use=nobody)
    repo.write("a.txt", "edit", at=first)
    repo.write("new.txt", "new", at=first)
    pool.locks.drop(first)
    second = await pool.take("fleet/next", "main", in_use=nobody)
    assert second == first
    assert files(second) == ALL
    assert (second / "a.txt").read_text() == "a\n"
    assert repo.read("fleet/dead", "a.txt") == "edit"
    assert repo.read("fleet/dead", "new.txt") == "new"
    assert repo.sha("fleet/next") == repo.sha("main")


async def test_commits_on_no_branch_are_archived_before_reuse(pool: Pool, repo: SampleRepo) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    repo.git("checkout", "--quiet", "--detach", at=path)
    repo.write("a.txt", "adrift", at=path)
    stray = repo.commit("adrift", at=path)
    await pool.release(path)
    assert repo.git("rev-parse", "refs/fleet/archive/x") == stray
    assert await pool.take("fleet/y", "main", in_use=nobody) == path
    assert repo.reachable(stray)


async def test_a_branch_that_another_run_looks_at_is_worked_on_elsewhere(
    pool: Pool, repo: SampleRepo
) -> None:
    ours = await pool.take("fleet/a", "main", in_use=nobody)
    await pool.release(ours)
    theirs = await pool.take("fleet/b", "main", in_use=nobody)
    repo.git("checkout", "--quiet", "fleet/a", at=theirs)
    repo.write("b.txt", "theirs\n", at=theirs)

    async def in_use() -> Collection[Path]:
        return [theirs]

    again = await pool.take("fleet/a", "main", in_use=in_use)
    assert again != theirs
    assert (theirs / "b.txt").read_text() == "theirs\n"
    repo.commit("theirs", at=theirs)
    assert repo.sha("fleet/a") == repo.sha("main")


async def test_what_a_run_left_on_the_branch_of_another_is_kept_apart_from_it(
    pool: Pool, repo: SampleRepo
) -> None:
    repo.git("branch", "fleet/a", "main")
    theirs = await pool.take("fleet/b", "main", in_use=nobody)
    repo.git("checkout", "--quiet", "fleet/a", at=theirs)
    repo.write("b.txt", "theirs\n", at=theirs)
    await pool.release(theirs)
    assert repo.sha("fleet/a") == repo.sha("main")
    assert repo.saved("b.txt") == {"theirs\n"}


async def test_a_run_that_left_its_branch_goes_on_in_its_worktree(
    pool: Pool, repo: SampleRepo
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    repo.git("checkout", "--quiet", "--detach", at=path)
    tip = repo.commit("adrift", at=path)
    pool.locks.drop(path)
    assert await pool.take("fleet/x", "main", in_use=nobody) == path
    assert repo.sha("fleet/x") == tip
    assert repo.git("symbolic-ref", "--short", "HEAD", at=path) == "fleet/x"


@pytest.mark.parametrize("command", ["merge", "rebase", "cherry-pick", "revert"])
async def test_an_operation_in_progress_is_saved_and_gone_after_reuse(
    pool: Pool, repo: SampleRepo, command: str
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    repo.write("a.txt", "ours\n", at=path)
    ours = repo.commit("ours", at=path)
    repo.write("a.txt", "theirs\n")
    theirs = repo.commit("theirs")
    wanted = {"revert": f"{theirs}", "cherry-pick": theirs}.get(command, "main")
    with pytest.raises(AssertionError, match=r"(?i)conflict"):
        repo.git(command, wanted, at=path)
    repo.write("a.txt", "half resolved\n", at=path)
    await pool.release(path)
    assert await pool.take("fleet/y", "main", in_use=nobody) == path
    assert "fleet/y" in repo.git("status", at=path).splitlines()[0]
    assert "nothing to commit" in repo.git("status", at=path)
    assert len(repo.git("status", at=path).splitlines()) == 2
    assert "half resolved\n" in repo.saved("a.txt")
    assert repo.git("merge-base", "--is-ancestor", ours, "fleet/x") == ""
    if command == "rebase":
        assert repo.sha("fleet/x") == ours


async def test_a_lock_that_a_killed_git_left_does_not_stop_the_pool(
    pool: Pool, repo: SampleRepo
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    repo.write("a.txt", "edit", at=path)
    for lock in ("index.lock", "HEAD.lock", "../../refs/heads/fleet/x.lock"):
        (git_dir(path) / lock).touch()
    await pool.release(path)
    assert repo.read("fleet/x", "a.txt") == "edit"
    (git_dir(path) / "index.lock").touch()
    assert await pool.take("fleet/y", "main", in_use=nobody) == path


async def test_a_lock_on_the_head_of_a_worktree_does_not_stop_the_next_run_there(
    pool: Pool, repo: SampleRepo
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    repo.git("checkout", "--quiet", "--detach", at=path)
    (git_dir(path) / "HEAD.lock").touch()
    pool.locks.drop(path)
    assert await pool.take("fleet/x", "main", in_use=nobody) == path
    assert repo.git("symbolic-ref", "--short", "HEAD", at=path) == "fleet/x"


async def test_a_worktree_let_go_after_a_killed_git_is_not_given_to_two(
    pool: Pool, repo: SampleRepo, trap: Trap, tmp_path: Path
) -> None:
    first = await pool.take("fleet/old", "main", in_use=nobody)
    await pool.release(first)
    trap.plan('case "$*" in *symbolic-ref*) once && { own "$@"; kill -9 $$; };; esac')

    async def seen_before() -> Collection[Path]:
        """Who uses what, before another process releases its worktree."""
        while not trap.sprung:
            await asyncio.sleep(0)
        with suppress(TimeoutError):
            async with asyncio.timeout(0.3):
                while pool.locks.is_held(first):
                    await asyncio.sleep(0.01)
        return ()

    async def second() -> Path:
        while not pool.locks.is_held(first):
            await asyncio.sleep(0)
        other = Pool(repo.path, tmp_path / "pool", tmp_path / "locks" / "repo")
        return await other.take("fleet/y", "main", in_use=seen_before)

    one, other = await asyncio.gather(pool.take("fleet/x", "main", in_use=nobody), second())
    assert one != other


async def test_a_lock_of_a_living_git_is_respected(pool: Pool, repo: SampleRepo) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    git = await asyncio.create_subprocess_exec(
        *("git", "cat-file", "--batch-check"),
        cwd=path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert git.stdin
    assert git.stdout
    git.stdin.write(b"HEAD\n")
    await git.stdout.readline()  # it is working
    (git_dir(path) / "index.lock").touch()
    repo.write("a.txt", "edit", at=path)
    with pytest.raises(WorkspaceTrouble, match=r"index\.lock"):
        await pool.release(path)
    assert (path / "a.txt").read_text() == "edit"
    await git.communicate(b"")
    await pool.release(path)
    assert repo.read("fleet/x", "a.txt") == "edit"


async def test_a_worktree_whose_folder_was_deleted_is_forgotten_and_its_commits_kept(
    pool: Pool, repo: SampleRepo
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    repo.git("checkout", "--quiet", "--detach", at=path)
    stray = repo.commit("adrift", at=path)
    shutil.rmtree(path)
    again = await pool.take("fleet/x", "main", in_use=nobody)
    assert files(again) == ALL
    assert repo.reachable(stray)
    assert len(await pool.slots()) == 1


async def test_releasing_or_removing_a_deleted_worktree_is_no_error(
    pool: Pool, repo: SampleRepo
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    shutil.rmtree(path)
    await pool.release(path)
    await pool.remove(path)
    assert await pool.slots() == []


async def test_a_worktree_that_lost_its_tie_to_git_is_mended_and_its_edits_saved(
    pool: Pool, repo: SampleRepo
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    repo.write("a.txt", "edit", at=path)
    pool.locks.drop(path)
    (path / ".git").unlink()
    assert await pool.slots() == []
    assert await pool.take("fleet/y", "main", in_use=nobody) == path
    assert repo.read("fleet/x", "a.txt") == "edit"


async def test_a_folder_that_git_does_not_know_is_left_alone(
    pool: Pool, repo: SampleRepo, tmp_path: Path
) -> None:
    stray = repo.write("1/precious.txt", "not ours", at=tmp_path / "pool")
    path = await pool.take("fleet/x", "main", in_use=nobody)
    assert path.name == "2"
    assert stray.read_text() == "not ours"


async def test_a_worktree_whose_maker_was_killed_before_the_checkout_is_used(
    pool: Pool, repo: SampleRepo, tmp_path: Path
) -> None:
    half = tmp_path / "pool" / "1"
    repo.git("worktree", "add", "--detach", "--no-checkout", str(half))
    (tmp_path / "pool" / "2").mkdir()
    assert await pool.take("fleet/x", "main", in_use=nobody) == half
    assert files(half) == ALL
    assert repo.sha("fleet/x") == repo.sha("main")
    assert repo.git("for-each-ref", "refs/fleet") == ""


async def test_a_branch_checked_out_by_the_user_is_refused_with_the_place(
    pool: Pool, repo: SampleRepo
) -> None:
    repo.git("checkout", "--quiet", "-b", "fleet/x")
    with pytest.raises(WorkspaceTrouble, match=r"fleet/x is checked out in .*repo"):
        await pool.take("fleet/x", "main", in_use=nobody)


async def test_a_start_that_does_not_exist_is_refused_with_a_hint(pool: Pool) -> None:
    with pytest.raises(WorkspaceTrouble, match="no commit 'nope'") as refused:
        await pool.take("fleet/x", "nope", in_use=nobody)
    assert refused.value.hint
    assert await pool.slots() == []


async def test_a_removed_worktree_leaves_its_work_on_a_ref(pool: Pool, repo: SampleRepo) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    commit = repo.commit("committed", at=path)
    repo.write("new.txt", "uncommitted", at=path)
    await pool.remove(path)
    assert not path.exists()
    assert await pool.slots() == []
    assert repo.reachable(commit)
    assert repo.read("fleet/x", "new.txt") == "uncommitted"


async def test_nothing_outside_the_pool_can_be_removed(
    pool: Pool, repo: SampleRepo, tmp_path: Path
) -> None:
    other = tmp_path / "mine"
    repo.git("worktree", "add", "--detach", str(other))
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "7").symlink_to(other)
    for path in (other, repo.path, tmp_path / "pool", tmp_path / "pool" / "7"):
        with pytest.raises(WorkspaceTrouble, match="not a worktree of the pool"):
            await pool.remove(path)
    assert files(other) == ALL


async def test_links_in_a_worktree_are_removed_and_not_followed(
    pool: Pool, repo: SampleRepo, tmp_path: Path
) -> None:
    precious = repo.write("precious.txt", "not ours", at=tmp_path / "outside")
    path = await pool.take("fleet/x", "main", in_use=nobody)
    (path / "cache").symlink_to(precious.parent)
    await pool.release(path)
    await pool.take("fleet/y", "main", in_use=nobody)
    (path / "link.log").symlink_to(precious.parent)
    await pool.remove(path)
    assert precious.read_text() == "not ours"


def test_folders_that_forbid_deletion_are_opened_but_not_through_links(tmp_path: Path) -> None:
    inner, outside = tmp_path / "w" / "cache" / "pkg", tmp_path / "outside"
    for folder in (inner, outside):
        folder.mkdir(parents=True)
        folder.chmod(0o500)
    (tmp_path / "w" / "link").symlink_to(outside)
    slot.unlock_folders(tmp_path / "w")
    assert inner.stat().st_mode & 0o777 == 0o700
    assert outside.stat().st_mode & 0o777 == 0o500


async def test_a_repository_made_inside_a_worktree_is_archived_and_gone_after_reuse(
    pool: Pool, repo: SampleRepo
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    inner = make_repo(path / "deep" / "inner", {"i.txt": "committed\n"})
    inner.write("j.txt", "uncommitted\n")
    make_repo(path / "empty", {})
    await pool.release(path)
    await pool.take("fleet/y", "main", in_use=nobody)
    assert files(path) == ALL
    assert repo.read("refs/fleet/archive/x-deep-inner", "j.txt") == "uncommitted\n"
    assert repo.sha("fleet/x") == repo.sha("main")


async def test_a_submodule_is_emptied_and_its_work_kept(
    pool: Pool, repo: SampleRepo, tmp_path: Path
) -> None:
    library = make_repo(tmp_path / "library", {"lib.txt": "lib\n"})
    allow = ("-c", "protocol.file.allow=always")
    repo.git(*allow, "submodule", "--quiet", "add", str(library.path), "lib")
    repo.commit("submodule")
    path = await pool.take("fleet/x", "main", in_use=nobody)
    repo.git(*allow, "submodule", "--quiet", "update", "--init", at=path)
    repo.git("config", "user.email", "x@example.org", at=path / "lib")
    repo.git("config", "user.name", "x", at=path / "lib")
    repo.write("lib/lib.txt", "edited\n", at=path)
    await pool.release(path)
    assert "edited\n" in repo.saved("lib.txt")
    await pool.take("fleet/y", "main", in_use=nobody)
    assert [*(path / "lib").iterdir()] == []
    assert repo.git("status", "--porcelain", at=path) == ""


async def test_edits_hidden_from_git_are_saved_and_gone_after_reuse(
    pool: Pool, repo: SampleRepo
) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    repo.git("update-index", "--skip-worktree", "a.txt", at=path)
    repo.git("update-index", "--assume-unchanged", "src/b.txt", at=path)
    repo.write("a.txt", "hidden", at=path)
    (path / "src" / "b.txt").unlink()
    await pool.release(path)
    await pool.take("fleet/y", "main", in_use=nobody)
    assert repo.read("fleet/x", "a.txt") == "hidden"
    assert repo.git("ls-tree", "-r", "--name-only", "fleet/x", "src") == ""
    assert (path / "a.txt").read_text() == "a\n"
    assert files(path) == ALL


async def test_a_sparse_checkout_that_a_run_made_ends_with_it(pool: Pool, repo: SampleRepo) -> None:
    path = await pool.take("fleet/x", "main", in_use=nobody)
    repo.git("sparse-checkout", "set", "nothing", at=path)
    assert files(path) == ALL - {"src/b.txt"}
    repo.write("a.txt", "edit", at=path)
    await pool.release(path)
    await pool.take("fleet/y", "main", in_use=nobody)
    assert files(path) == ALL
    assert repo.read("fleet/x", "a.txt") == "edit"
    assert repo.read("fleet/x", "src/b.txt") == "b\n"


async def test_a_sparse_repository_keeps_its_worktrees_sparse(pool: Pool, repo: SampleRepo) -> None:
    repo.git("sparse-checkout", "set", "nothing")
    path = await pool.take("fleet/x", "main", in_use=nobody)
    await pool.release(path)
    await pool.take("fleet/y", "main", in_use=nobody)
    assert files(path) == ALL - {"src/b.txt"}
    assert repo.sha("fleet/x") == repo.sha("main")


async def test_a_worktree_with_a_broken_index_is_saved_and_used_again(
    pool: Pool, repo: SampleRepo
) -> None:
    broken = await pool.take("fleet/x", "main", in_use=nobody)
    repo.write("a.txt", "edit", at=broken)
    (git_dir(broken) / "index").write_bytes(b"not an index")
    pool.locks.drop(broken)
    assert await pool.take("fleet/y", "main", in_use=nobody) == broken
    assert repo.read("fleet/x", "a.txt") == "edit"
    assert files(broken) == ALL


async def test_a_worktree_that_cannot_be_saved_is_left_and_another_one_is_used(
    pool: Pool, repo: SampleRepo
) -> None:
    broken = await pool.take("fleet/x", "main", in_use=nobody)
    repo.write("a.txt", "edit", at=broken)
    repo.write(".gitattributes", "* filter=broken", at=broken)
    repo.git("config", "filter.broken.clean", "false")
    repo.git("config", "filter.broken.required", "true")
    pool.locks.drop(broken)
    other = await pool.take("fleet/y", "main", in_use=nobody)
    assert other != broken
    assert (broken / "a.txt").read_text() == "edit"


async def test_ignored_files_named_in_worktreeinclude_are_copied(
    pool: Pool, repo: SampleRepo
) -> None:
    repo.write(".worktreeinclude", "# what agents need\n.env\na.txt\n*.log\n!noise.log\nplain\n")
    repo.git("add", ".worktreeinclude")
    repo.git("commit", "--quiet", "--message=list")
    repo.write(".env", "KEY=1")
    repo.write("deep/sp ace\n.log", "odd name")
    repo.write("noise.log", "left out")
    repo.write("plain", "named but not ignored")
    path = await pool.take(
        "fleet/x", "main", in_use=nobody, included=IncludedFiles(repo.path, "main")
    )
    assert files(path) == ALL | {".env", ".worktreeinclude", "deep/sp ace\n.log"}
    assert repo.git("status", "--porcelain", at=path) == ""


async def test_a_copied_link_stays_a_link_and_no_copy_leaves_the_worktree(
    pool: Pool, repo: SampleRepo, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo.path / "conf").symlink_to(outside)
    repo.write(".worktreeinclude", ".env\n*.log\n")
    repo.commit("a link to elsewhere")
    (repo.path / "conf").unlink()
    repo.write("conf/secret.log", "secret")
    (repo.path / ".env").symlink_to(outside / "env")
    path = await pool.take(
        "fleet/x", "main", in_use=nobody, included=IncludedFiles(repo.path, "main")
    )
    assert (path / ".env").is_symlink()
    assert [*outside.iterdir()] == []


@pytest.mark.parametrize(
    ("title", "branch"),
    [
        ("Extract the mailer", "fleet/k3-extract-the-mailer"),
        ("--yolo", "fleet/k3-yolo"),
        ("$(touch x); `id`", "fleet/k3-touch-x-id"),
        ("\N{ROCKET}\N{FIRE}", "fleet/k3-task"),
        ("Größe ändern", "fleet/k3-groe-andern"),
        ("../../etc/passwd", "fleet/k3-etc-passwd"),
        ("name.lock", "fleet/k3-name-lock"),
        ("@{-1}~^:?*[\\ \x7f\n\0", "fleet/k3-1"),
        ("\x1b[31mred\x1b[0m", "fleet/k3-31mred-0m"),
        ("x" * 1_000_000, "fleet/k3-" + "x" * 40),
        ("a" * 39 + " b", "fleet/k3-" + "a" * 39),
    ],
)
def test_any_title_makes_a_branch_name_that_git_accepts(
    repo: SampleRepo, title: str, branch: str
) -> None:
    assert branch_name("k3", title) == branch
    assert repo.git("check-ref-format", "--branch", branch) == branch


PROGRAM = """
import asyncio, sys
from itertools import count
from pathlib import Path
from codefleet.runner.git.worktree_pool import Pool

async def nobody():
    return ()

async def main(repo, folder, name):
    pool = Pool(Path(repo), Path(folder, "pool"), Path(folder, "lock"))
    for number in count():
        path = await pool.take(f"fleet/{name}-{number}", "main", in_use=nobody)
        (path / f"{name}-{number}.txt").write_text("work")
        print(f"{name}-{number}.txt", flush=True)
        sys.stdin.readline()
        await pool.release(path)

asyncio.run(main(*sys.argv[1:]))
"""


async def other_process(
    repo: SampleRepo, folder: Path, name: str, rounds: int
) -> asyncio.subprocess.Process:
    """Takes a worktree, writes a file there, prints its name and releases it, this many times."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", PROGRAM, str(repo.path), str(folder), name),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin
    process.stdin.write(rounds * b"\n")
    return process


async def killed(process: asyncio.subprocess.Process) -> list[str]:
    """Kill it and the git that it runs; return its unread output."""
    os.killpg(process.pid, signal.SIGKILL)
    rest, _ = await process.communicate()
    return rest.decode().split()


async def test_a_killed_holder_frees_its_worktree_and_loses_nothing(
    repo: SampleRepo, tmp_path: Path
) -> None:
    pool = Pool(repo.path, tmp_path / "pool", tmp_path / "lock")
    other = await other_process(repo, tmp_path, "other", rounds=0)
    assert other.stdout
    assert await other.stdout.readline() == b"other-0.txt\n"
    (theirs,) = await pool.slots()
    assert await pool.take("fleet/mine", "main", in_use=nobody) != theirs.path
    await killed(other)
    assert await pool.take("fleet/next", "main", in_use=nobody) == theirs.path
    assert repo.read("fleet/other-0", "other-0.txt") == "work"


@pytest.mark.slow
async def test_killed_at_any_moment_the_pool_goes_on_and_no_work_is_lost(
    repo: SampleRepo, tmp_path: Path
) -> None:
    chance = random.Random(7)
    pool = Pool(repo.path, tmp_path / "pool", tmp_path / "lock")
    written = []
    for number in range(12):
        other = await other_process(repo, tmp_path, f"k{number}", rounds=1000)
        assert other.stdout
        for _ in range(chance.randrange(1, 4)):
            written.append((await other.stdout.readline()).decode().strip())
        for _ in range(chance.randrange(3000)):
            await asyncio.sleep(0)  # so that each is killed at a different moment
        written += await killed(other)
        mine = await pool.take(f"fleet/mine-{number}", "main", in_use=nobody)
        assert repo.git("symbolic-ref", "--short", "HEAD", at=mine) == f"fleet/mine-{number}"
        assert repo.git("status", "--porcelain", "--ignored", at=mine) == ""
        await pool.release(mine)
    for each in await pool.slots():
        await pool.remove(each.path)
    assert [file for file in written if repo.saved(file) != {"work"}] == []
    assert repo.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert [*(tmp_path / "pool").iterdir()] == []


async def test_a_lock_that_a_killed_git_left_on_a_new_branch_is_no_obstacle(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    lock = repo.path / ".git/refs/heads/fleet/a-b.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    pool = Pool(repo.path, tmp_path / "pool", tmp_path / "lock")
    path = await pool.take("fleet/a-b", repo.sha("main"), in_use=nobody)
    assert repo.git("symbolic-ref", "--short", "HEAD", at=path) == "fleet/a-b"
