"""The git that stays open: what it answers is so now, and without it the answers are the same."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from codefleet.runner.git import object_reader
from codefleet.runner.git.config_guard import SharedSettings
from codefleet.runner.git.git import Git
from codefleet.runner.git.history import line
from codefleet.runner.git.locks import drop_stale
from codefleet.runner.git.lookup import commit_at, head_ref, is_ancestor
from codefleet.runner.git.object_reader import look_up, readers_kept_open
from codefleet.runner.git.tree_diff import added
from codefleet.runner.git.trusted_view import guard
from codefleet.runner.git.worktree_list import LIST, parsed, worktrees
from tests.gitrepo import SampleRepo, make_repo

BOUND_S = 60.0
OPENED = """
    import asyncio, sys
    from pathlib import Path
    from codefleet.runner.git.object_reader import look_up, readers_kept_open
    from codefleet.runner.git.trusted_view import guard

    async def main():
        guard(Path(sys.argv[1]))
        async with readers_kept_open():
            found = await look_up(Path(sys.argv[2]), "refs/heads/main")
            print(found[0].kind, flush=True)
            await asyncio.Event().wait()

    asyncio.run(main())
"""


async def _nobody() -> Collection[str]:
    return ()


@pytest.fixture
async def repo(tmp_path: Path) -> AsyncIterator[SampleRepo]:
    """A repository of which the fleet has a view, with a reader."""
    repo = make_repo(tmp_path / "shop", {"README.md": "A shop.\n", "src/till.py": "TOTAL = 0\n"})
    guard(tmp_path / "home")
    (tmp_path / "home" / "settings").mkdir(parents=True)
    await SharedSettings(repo.path, tmp_path / "home" / "settings" / "shop.json").begin(
        "r", _nobody
    )
    async with readers_kept_open():
        yield repo


def _readers() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if _is_reader(each)]


def _is_reader(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):  # it may have ended, and not be reaped yet
        return "--batch-command" in process.cmdline()
    return False


async def test_a_ref_that_others_move_pack_or_delete_is_where_it_is_now(repo: SampleRepo) -> None:
    git, ref = Git(repo.path), "refs/heads/side"
    assert await commit_at(git, ref) is None
    repo.git("branch", "side")
    assert await commit_at(git, ref) == repo.sha("main")
    repo.git("pack-refs", "--all")
    assert await commit_at(git, ref) == repo.sha("main")
    new = repo.git("commit-tree", "main^{tree}", "-p", "main", "-m", "new")
    repo.git("update-ref", ref, new)
    assert await commit_at(git, ref) == new
    repo.git("pack-refs", "--all")
    repo.git("update-ref", "-d", ref)
    assert await commit_at(git, ref) is None
    assert len(_readers()) == 1


async def test_a_reader_that_is_killed_is_replaced(repo: SampleRepo) -> None:
    git = Git(repo.path)
    assert await commit_at(git, "refs/heads/main") == repo.sha("main")
    _readers()[0].kill()
    assert await commit_at(git, "refs/heads/main") == repo.sha("main")
    assert await commit_at(git, "HEAD") == repo.sha("main")


@pytest.mark.parametrize("waits", [True, False], ids=["in line", "afterwards"])
async def test_a_question_that_is_cancelled_does_not_answer_the_next_one(
    repo: SampleRepo, waits: bool
) -> None:
    """Git may have answered it before it is cancelled."""
    repo.git("branch", "side", repo.git("commit-tree", "main^{tree}", "-m", "other"))
    git, main = Git(repo.path), repo.sha("main")
    for _ in range(20):
        assert await commit_at(git, "refs/heads/main") == main
        asking = asyncio.create_task(commit_at(git, "refs/heads/side"))
        next_one = [asyncio.create_task(commit_at(git, "refs/heads/main"))] if waits else []
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        _until_it_has_answered(_readers()[0])
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        next_one = next_one or [asyncio.create_task(commit_at(git, "refs/heads/main"))]
        assert await next_one[0] == main


def _until_it_has_answered(reader: psutil.Process) -> None:
    """Keep the event loop busy until git waits for the next question, its answer in the pipe."""
    for _ in range(1000):
        with suppress(psutil.NoSuchProcess):
            if reader.status() != psutil.STATUS_SLEEPING:
                continue
            return


@pytest.mark.parametrize(
    "head", [b"ref: refs/heads/main\0x\n", b"ref: refs/heads/" + b"a" * 300 + b"\n", b"ref: \xff\n"]
)
async def test_a_head_that_an_agent_made_odd_disturbs_no_other_worktree(
    repo: SampleRepo, tmp_path: Path, head: bytes
) -> None:
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    (repo.path / ".git" / "worktrees" / "side" / "HEAD").write_bytes(head)
    assert repo.path in [each.path for each in await worktrees(Git(repo.path))]
    drop_stale(repo.path / ".git" / "worktrees" / "side", tmp_path / "side")
    assert await commit_at(Git(repo.path), "HEAD") == repo.sha("main")


async def test_an_object_too_large_to_keep_is_left_to_git_itself(
    repo: SampleRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_reader, "LARGEST", 10)
    assert await look_up(repo.path, repo.sha("main"), contents=True) is None
    repo.commit("more")
    assert await is_ancestor(Git(repo.path), "refs/heads/main~1", "refs/heads/main")


async def test_a_reader_ends_with_its_runner_even_if_that_is_killed(repo: SampleRepo) -> None:
    reader = await asyncio.to_thread(_reader_of_a_killed_runner, repo)
    assert psutil.wait_procs([reader], timeout=BOUND_S)[0]


def _reader_of_a_killed_runner(repo: SampleRepo) -> psutil.Process:
    home = repo.path.parent / "home"
    argv = [sys.executable, "-c", textwrap.dedent(OPENED), str(home), str(repo.path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout
        assert runner.stdout.readline() == "commit\n"
        (reader,) = psutil.Process(runner.pid).children()
        os.kill(runner.pid, signal.SIGKILL)
    return reader


async def test_a_branch_that_is_a_link_to_another_is_not_mistaken_for_itself(
    repo: SampleRepo,
) -> None:
    repo.git("symbolic-ref", "refs/heads/link", "refs/heads/main")
    repo.git("symbolic-ref", "HEAD", "refs/heads/link")
    assert await head_ref(Git(repo.path)) == "refs/heads/main"


async def test_near_commits_are_compared_as_git_compares_them(repo: SampleRepo) -> None:
    git, first = Git(repo.path), repo.sha("main")
    one = repo.git("commit-tree", "main^{tree}", "-p", first, "-m", "one")
    two = repo.git("commit-tree", "main^{tree}", "-p", first, "-m", "two")
    both = repo.git("commit-tree", "main^{tree}", "-p", one, "-p", two, "-m", "both")
    for commit in (first, one, two, both):
        for of in (first, one, two, both):
            told = await git.run("merge-base", "--is-ancestor", commit, of)
            assert await is_ancestor(git, commit, of) is (told.code == 0)
    assert await line(git, two, first) == [two]
    assert await line(git, both, first) is None


async def test_added_files_are_those_that_git_lists(repo: SampleRepo) -> None:
    old = repo.sha("main")
    for name in ("new.txt", "src/more.py", "deep/er/file", "README.md"):
        file = repo.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text\n")
    repo.git("add", "--all")
    tree = repo.git("write-tree")
    git = Git(repo.path)
    assert await added(git, old, tree) == ["deep/er/file", "new.txt", "src/more.py"]
    assert await look_up(repo.path, f"{tree}:nothing") == [None]


async def test_worktrees_are_listed_as_git_lists_them(repo: SampleRepo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    repo.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "loose"))
    git = Git(repo.path)
    listed = {(each.path, each.branch) for each in await worktrees(git)}
    assert listed == {(each.path, each.branch) for each in parsed(await git(*LIST))}
    repo.git("config", "core.bare", "true")
    assert (await worktrees(git))[0].is_bare
