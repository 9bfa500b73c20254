"""The radar: snapshots that nobody notices, and the pairs that cannot be merged."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from codefleet.runner.git.snapshot import snapshot
from codefleet.runner.radar import changed_paths, collisions
from tests.gitrepo import SampleRepo, make_repo

THE_DATE = "2000-01-01T00:00:00+00:00"
TEXT = "".join(f"line {n}\n" for n in range(30))


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    return make_repo(
        tmp_path / "repo", {"shared.txt": TEXT, "other.txt": "other\n", ".gitignore": "*.log\n"}
    )


def worktree(repo: SampleRepo, name: str) -> Path:
    path = repo.path.parent / name
    repo.git("worktree", "add", "--quiet", "-b", f"fleet/{name}", str(path))
    return path


def everything(folder: Path) -> Mapping[str, tuple[int, bytes]]:
    return {
        str(each): (each.stat().st_mtime_ns, each.read_bytes())
        for each in folder.rglob("*")
        if each.is_file()
    }


async def seen(repo: SampleRepo, *paths: Path) -> list[tuple[str, str, tuple[str, ...]]]:
    """What the radar reports about these worktrees."""
    snapshots = {}
    for path in paths:
        commit = await snapshot(path)
        snapshots[path.name] = (commit, await changed_paths(repo.path, commit, "main"))
    return await collisions(repo.path, snapshots)


async def test_a_snapshot_has_everything_that_git_does_not_ignore(repo: SampleRepo) -> None:
    path = worktree(repo, "a")
    repo.write("committed.txt", "1\n", at=path)
    head = repo.commit(at=path)
    repo.write("shared.txt", "edited\n", at=path)
    repo.write("new/file\nname", "untracked\n", at=path)
    repo.write("noise.log", "ignored\n", at=path)
    (path / "other.txt").unlink()
    commit = await snapshot(path)
    assert repo.sha(f"{commit}^") == head
    assert repo.read(commit, "shared.txt") == "edited\n"
    listed = repo.git("ls-tree", "-r", "-z", "--name-only", commit).strip("\0").split("\0")
    assert listed == [".gitignore", "committed.txt", "new/file\nname", "shared.txt"]
    changed = await changed_paths(repo.path, commit, "main")
    assert changed == {"committed.txt", "new/file\nname", "other.txt", "shared.txt"}


async def test_a_snapshot_touches_nothing(repo: SampleRepo) -> None:
    path = worktree(repo, "a")
    repo.write("staged.txt", "staged\n", at=path)
    repo.git("add", "staged.txt", at=path)
    repo.write("shared.txt", "edited\n", at=path)
    git_folder = repo.path / ".git" / "worktrees" / "a"
    before = everything(path), everything(git_folder), repo.git("for-each-ref")
    await snapshot(path)
    assert (everything(path), everything(git_folder), repo.git("for-each-ref")) == before


async def test_the_same_state_is_the_same_snapshot(repo: SampleRepo) -> None:
    path = worktree(repo, "a")
    assert await snapshot(path) == repo.sha("main")
    repo.write("shared.txt", "edited\n", at=path)
    commit = await snapshot(path)
    assert await snapshot(path) == commit
    assert repo.git("log", "-1", "--format=%aI %cI", commit) == " ".join(2 * [THE_DATE])


async def test_a_snapshot_in_the_middle_of_a_merge_is_taken(repo: SampleRepo) -> None:
    path = worktree(repo, "a")
    repo.write("shared.txt", "ours\n", at=path)
    repo.commit(at=path)
    repo.write("shared.txt", "theirs\n")
    repo.commit()
    with pytest.raises(AssertionError, match="CONFLICT"):
        repo.git("merge", "main", at=path)
    assert "<<<<<<<" in repo.read(await snapshot(path), "shared.txt")


async def test_a_repository_inside_a_worktree_does_not_stop_the_radar(repo: SampleRepo) -> None:
    path = worktree(repo, "a")
    repo.write("shared.txt", "edited\n", at=path)
    make_repo(path / "inner").git("checkout", "--quiet", "--orphan", "empty")  # git add refuses it
    commit = await snapshot(path)
    assert await changed_paths(repo.path, commit, "main") == {"shared.txt"}


async def test_two_who_break_the_same_lines_collide_before_either_commits(
    repo: SampleRepo,
) -> None:
    paths = [worktree(repo, name) for name in "abc"]
    for path in paths:
        repo.write("shared.txt", TEXT.replace("line 3\n", f"{path.name}\n"), at=path)
    repo.write("shared.txt", TEXT.replace("line 25\n", "c\n"), at=paths[2])
    assert await seen(repo, *paths) == [("a", "b", ("shared.txt",))]


async def test_two_new_files_of_one_odd_name_collide(repo: SampleRepo) -> None:
    paths = [worktree(repo, name) for name in "ab"]
    for path in paths:
        repo.write("-new\n ü", f"{path.name}\n", at=path)
        repo.write("second", f"{path.name}\n", at=path)
    assert await seen(repo, *paths) == [("a", "b", ("-new\n ü", "second"))]


async def test_a_file_where_the_other_has_a_folder_collides(repo: SampleRepo) -> None:
    left, right = worktree(repo, "a"), worktree(repo, "b")
    repo.write("thing", "a file\n", at=left)
    repo.write("thing/inside", "a folder\n", at=right)
    ((first, second, paths),) = await seen(repo, left, right)
    assert (first, second) == ("a", "b")
    assert paths


async def test_work_on_different_files_does_not_collide(repo: SampleRepo) -> None:
    left, right = worktree(repo, "a"), worktree(repo, "b")
    repo.write("shared.txt", "left\n", at=left)
    repo.write("other.txt", "right\n", at=right)
    assert await seen(repo, left, right) == []
    assert await collisions(repo.path, {}) == []


async def test_many_pairs_are_told_apart_in_one_go(repo: SampleRepo) -> None:
    paths = [worktree(repo, f"w{n}") for n in range(5)]
    for number, path in enumerate(paths):
        repo.write("shared.txt", TEXT.replace(f"line {7 * (number % 3)}\n", f"{number}\n"), at=path)
    pairs = [(left, right) for left, right, _ in await seen(repo, *paths)]
    assert pairs == [("w0", "w3"), ("w1", "w4")]
