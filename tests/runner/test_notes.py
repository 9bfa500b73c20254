"""The notes in a worktree, whatever an agent puts in their place."""

import os
import stat
from pathlib import Path

import pytest

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.model import RunId
from codefleet.runner.brief import notes
from codefleet.runner.git.salvage import salvage
from codefleet.runner.git.snapshot import snapshot
from tests.gitrepo import SampleRepo, make_repo

RUN = RunId("t1.1")


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    return make_repo(tmp_path / "shop", {"README.md": "A shop.\n"})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(repo: SampleRepo) -> Path:
    folder = repo.path / notes.NAME
    notes.write_all(folder, RUN, {notes.KNOWLEDGE: "The till is old.\n"})
    return folder


async def test_git_does_not_see_them(repo: SampleRepo, folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "more.txt").write_text("more")
    head = repo.git("rev-parse", "HEAD")
    assert repo.git("status", "--porcelain", "--untracked-files=all") == ""
    assert await salvage(repo.path, "Save") is None
    assert await snapshot(repo.path) == head
    repo.git("add", "--all")
    assert repo.git("diff", "--cached", "--name-only") == ""


async def test_a_repository_that_has_such_a_folder_keeps_it(repo: SampleRepo) -> None:
    repo.write(".codefleet/config", "theirs\n")
    repo.commit("Use a tool of the same name")
    assert await notes.folder_name(repo.path, "HEAD") == ".codefleet-1"
    assert await notes.folder_name(repo.path, "HEAD~1") == ".codefleet"


def test_they_go_home_and_leave_nothing_behind(folder: Path, home: Path) -> None:
    (folder / notes.PLAN).write_text("1. look\n")
    notes.collect(folder, home)
    assert not folder.exists()
    assert sorted(path.name for path in home.iterdir()) == [notes.KNOWLEDGE, notes.PLAN]
    assert notes.latest([home]) == {
        notes.PLAN: "1. look\n",
        notes.KNOWLEDGE: "The till is old.\n",
    }


def test_to_bring_them_home_again_loses_nothing(folder: Path, home: Path) -> None:
    notes.collect(folder, home)
    notes.collect(folder, home)
    assert notes.collected(home, notes.KNOWLEDGE) == "The till is old.\n"


def test_of_each_file_the_newest_is_carried_on_and_no_result(tmp_path: Path) -> None:
    old, new = tmp_path / "1", tmp_path / "2"
    for home, name, text in (
        (old, notes.PLAN, "old plan"),
        (old, notes.KNOWLEDGE, "old facts"),
        (old, notes.RESULT, "{}"),
        (new, notes.KNOWLEDGE, "new facts"),
    ):
        home.mkdir(exist_ok=True)
        (home / name).write_text(text)
    assert notes.latest([old, new, tmp_path / "3"]) == {
        notes.PLAN: "old plan",
        notes.KNOWLEDGE: "new facts",
    }


def test_no_link_is_followed(folder: Path, home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("private")
    (folder / notes.PLAN).symlink_to(outside)
    notes.collect(folder, home)
    assert not (home / notes.PLAN).exists()
    assert outside.read_text() == "private"


def test_a_folder_that_became_a_link_is_not_followed(
    folder: Path, home: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / notes.PLAN).write_text("private")
    (folder / notes.KNOWLEDGE).unlink()
    (folder / notes.IGNORE).unlink()
    folder.rmdir()
    folder.symlink_to(outside)
    notes.collect(folder, home)
    assert list(home.iterdir()) == []
    assert not folder.is_symlink()
    assert (outside / notes.PLAN).read_text() == "private"


def test_a_folder_or_a_pipe_in_place_of_a_file_is_no_note(folder: Path, home: Path) -> None:
    (folder / notes.PLAN).mkdir()
    (folder / notes.RESULT).mkdir(mode=stat.S_IRUSR)
    os.mkfifo(folder / notes.QUESTIONS)
    notes.collect(folder, home)
    assert [path.name for path in home.iterdir()] == [notes.KNOWLEDGE]
    assert not folder.exists()


def test_a_file_in_place_of_the_folder_is_replaced(repo: SampleRepo) -> None:
    folder = repo.path / notes.NAME
    folder.write_text("a file")
    notes.write_all(folder, RUN, {})
    assert folder.is_dir()
    os.mkfifo(repo.path / "pipe")
    notes.write_all(repo.path / "pipe", RUN, {})


def test_a_huge_file_is_cut_and_strange_bytes_are_replaced(folder: Path, home: Path) -> None:
    (folder / notes.PLAN).write_bytes(b"x" * 10_000_000)
    (folder / notes.KNOWLEDGE).write_bytes(b"caf\xe9\0 \xff")
    notes.collect(folder, home)
    assert (home / notes.PLAN).stat().st_size < 300_000
    assert (home / notes.PLAN).read_text().endswith(notes.CUT)
    assert (
        home / notes.KNOWLEDGE
    ).read_text() == "caf\N{REPLACEMENT CHARACTER}\0 \N{REPLACEMENT CHARACTER}"


def test_what_cannot_be_brought_home_stays(folder: Path, home: Path) -> None:
    (home / f"{notes.KNOWLEDGE}.draft").mkdir()
    with pytest.raises(WorkspaceTrouble, match="still in"):
        notes.collect(folder, home)
    assert (folder / notes.KNOWLEDGE).read_text() == "The till is old.\n"


def test_they_know_whose_they_are(folder: Path) -> None:
    assert notes.belongs_to(folder, RUN)
    assert not notes.belongs_to(folder, RunId("t1.11"))
    assert not notes.belongs_to(folder / "nowhere", RUN)
