"""Saving work: every edit becomes a commit, and every commit stays reachable."""

from contextlib import suppress
from hashlib import sha1
from pathlib import Path

import pytest

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git.archive import archive
from codefleet.runner.git.branch import drop_branch
from codefleet.runner.git.commit import identity
from codefleet.runner.git.git import Git
from codefleet.runner.git.own_branch import fast_forward_to_head
from codefleet.runner.git.salvage import salvage
from tests.gitrepo import SampleRepo, make_repo

ODD = [
    "new\nline",
    "sp ace",
    "ümlaut",
    "-dash",
    '"quoted"',
    "tab\t",
    ":(glob)*",
    "*",
    "back\\slash",
]


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    return make_repo(tmp_path / "repo", {"a.txt": "a\n", "b.txt": "b\n", ".gitignore": "*.log\n"})


def conflicting(repo: SampleRepo) -> None:
    """Two branches, `main` and `other`, that changed the same line; `main` is checked out."""
    repo.git("checkout", "--quiet", "-b", "other")
    repo.write("a.txt", "other\n")
    repo.commit("other")
    repo.git("checkout", "--quiet", "main")
    repo.write("a.txt", "main\n")
    repo.commit("main")


async def test_files_outside_of_a_sparse_checkout_are_saved_and_those_left_out_stay(
    repo: SampleRepo,
) -> None:
    repo.write("deep/kept.txt", "kept\n")
    repo.commit("more")
    repo.git("sparse-checkout", "set", "elsewhere")
    assert not (repo.path / "deep").exists()
    repo.write("far/new.txt", "new\n")
    assert await salvage(repo.path, "Save")
    assert repo.read("HEAD", "far/new.txt") == "new\n"
    assert repo.read("HEAD", "deep/kept.txt") == "kept\n"


@pytest.mark.parametrize("ends", ["input", "true"])
async def test_line_ends_that_git_is_told_to_refuse_are_saved_all_the_same(
    repo: SampleRepo, ends: str
) -> None:
    repo.git("config", "core.autocrlf", ends)
    repo.git("config", "core.safecrlf", "true")
    (repo.path / "mixed.txt").write_bytes(b"one\r\ntwo\n")
    assert await salvage(repo.path, "Save")
    assert repo.read("HEAD", "mixed.txt") == "one\ntwo\n"


async def test_every_kind_of_edit_is_in_the_commit(repo: SampleRepo) -> None:
    before = repo.sha("HEAD")
    repo.write("a.txt", "edited\n")
    (repo.path / "b.txt").unlink()
    repo.write("deep/new.txt", "untracked\n")
    repo.write("staged.txt", "staged\n")
    repo.git("add", "staged.txt")
    repo.write("noise.log", "ignored\n")
    commit = await salvage(repo.path, "Saved\n\nFleet-Task: k3")
    assert commit == repo.sha("main")
    assert repo.sha("main^") == before
    listed = repo.git("ls-tree", "-r", "--name-only", "main").split("\n")
    assert listed == [".gitignore", "a.txt", "deep/new.txt", "staged.txt"]
    assert repo.read("main", "a.txt") == "edited\n"
    assert repo.git("log", "-1", "--format=%B", "main").strip() == "Saved\n\nFleet-Task: k3"
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("*\n", "*.log\n"),
        ("# Created by venv\n*\n", "*.log\n"),
        ("*\n!.gitignore\n", "*.log\n"),
        ("*.log\n/**\n*.tmp\r\n", "*.log\n*.tmp\n"),
    ],
)
async def test_work_that_a_new_ignore_list_hides_altogether_is_saved(
    repo: SampleRepo, written: str, left: str
) -> None:
    repo.write("new/work.txt", "work\n")
    repo.write("left.log", "")
    (repo.path / ".gitignore").write_bytes(written.encode())
    assert await salvage(repo.path, "Save")
    assert repo.read("HEAD", "new/work.txt") == "work\n"
    assert repo.read("HEAD", ".gitignore") == left
    assert "left.log" not in repo.git("ls-tree", "--name-only", "HEAD")


async def test_an_ignore_list_that_hides_itself_where_there_was_none_is_removed(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path / "repo", {"a.txt": "a\n"})
    repo.write(".gitignore", "*")
    repo.write("work.txt", "work\n")
    assert await salvage(repo.path, "Save")
    assert repo.git("ls-tree", "--name-only", "HEAD").split() == ["a.txt", "work.txt"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".gitignore", "*\n!src/\n"),  # all but what it names
        ("cache/.gitignore", "*\n"),
    ],
)
async def test_an_ignore_list_made_with_care_is_heeded(
    repo: SampleRepo, file: str, text: str
) -> None:
    repo.write(file, text)
    repo.write("cache/thing.txt", "not work\n")
    await salvage(repo.path, "Save")
    assert "cache" not in repo.git("ls-tree", "--name-only", "HEAD").split()


async def test_a_repository_that_ignores_everything_itself_goes_on_doing_so(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path / "repo", {"a.txt": "a\n"})
    repo.write(".gitignore", "*\n")
    repo.git("add", "--force", ".gitignore")
    repo.git("commit", "--quiet", "-m", "Name every file by hand")
    repo.write("scratch.txt", "scratch\n")
    assert await salvage(repo.path, "Save") is None
    assert (repo.path / ".gitignore").read_text() == "*\n"


async def test_a_clean_worktree_needs_no_commit(repo: SampleRepo) -> None:
    before = repo.sha("HEAD")
    repo.write("noise.log", "ignored\n")
    assert await salvage(repo.path, "nothing") is None
    assert repo.sha("HEAD") == before


async def test_files_with_any_name_are_saved(repo: SampleRepo) -> None:
    for name in ODD:
        repo.write(name, "odd\n")
    (repo.path / b"latin\xff".decode(errors="surrogateescape")).write_text("odd\n")
    commit = await salvage(repo.path, "odd names")
    listed = repo.git("ls-tree", "-r", "-z", "--name-only", str(commit)).split("\0")
    assert {*ODD, "latin\udcff"} <= {*listed}


async def test_work_on_no_branch_is_saved_where_it_stands(repo: SampleRepo) -> None:
    repo.git("checkout", "--quiet", "--detach")
    repo.write("a.txt", "adrift\n")
    commit = await salvage(repo.path, "adrift")
    assert commit == repo.sha("HEAD")
    assert repo.sha("main") == repo.sha("HEAD^")


async def test_work_before_the_first_commit_is_saved(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "young")
    repo.git("checkout", "--quiet", "--orphan", "young")
    assert await salvage(repo.path, "first") == repo.sha("young")
    assert repo.git("rev-list", "--count", "young") == "1"


async def test_a_merge_in_progress_is_concluded_with_both_parents(repo: SampleRepo) -> None:
    conflicting(repo)
    with pytest.raises(AssertionError, match="CONFLICT"):
        repo.git("merge", "other")
    commit = await salvage(repo.path, "merged")
    parents = repo.git("log", "-1", "--format=%P", str(commit)).split()
    assert parents == [repo.sha("main^1"), repo.sha("other")]
    assert "<<<<<<<" in repo.read("main", "a.txt")
    assert "MERGE_HEAD" not in {each.name for each in (repo.path / ".git").iterdir()}


async def test_a_merge_resolved_to_our_side_is_still_concluded(repo: SampleRepo) -> None:
    conflicting(repo)
    with pytest.raises(AssertionError, match="CONFLICT"):
        repo.git("merge", "other")
    repo.git("checkout", "--ours", "a.txt")
    repo.git("add", "a.txt")
    await salvage(repo.path, "ours")
    assert repo.git("merge-base", "--is-ancestor", "other", "main") == ""


async def test_an_unfinished_rebase_is_archived_and_the_branch_is_as_before(
    repo: SampleRepo,
) -> None:
    conflicting(repo)
    before = repo.sha("main")
    with pytest.raises(AssertionError, match="CONFLICT"):
        repo.git("rebase", "other")
    repo.write("a.txt", "half resolved\n")
    await salvage(repo.path, "half")
    assert repo.read("refs/fleet/archive/main-rebase", "a.txt") == "half resolved\n"
    assert repo.git("symbolic-ref", "--short", "HEAD") == "main"
    assert repo.sha("main") == before
    assert repo.git("status", "--porcelain") == ""
    assert "rebase" not in repo.git("status")


async def test_hooks_signing_and_templates_of_the_user_do_not_stop_it(repo: SampleRepo) -> None:
    hooks = repo.path / ".git" / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "reference-transaction"):
        (hooks / name).write_text("#!/bin/sh\nexit 1\n")
        (hooks / name).chmod(0o755)
    repo.git("config", "commit.gpgsign", "true")
    repo.git("config", "gpg.program", "/bin/false")
    repo.git("config", "status.showUntrackedFiles", "no")
    repo.write("new.txt", "new\n")
    commit = await salvage(repo.path, "")
    assert commit
    assert repo.read(commit, "new.txt") == "new\n"


async def test_the_user_is_the_author_when_git_knows_one(repo: SampleRepo) -> None:
    repo.write("a.txt", "edited\n")
    await salvage(repo.path, "saved")
    assert (
        repo.git("log", "-1", "--format=%an <%ae> %cn") == "Ada Sample <ada@example.org> Ada Sample"
    )


async def test_without_a_known_user_the_fleet_is_the_author(
    repo: SampleRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    repo.git("config", "--remove-section", "user")
    assert await identity(Git(repo.path))
    repo.write("a.txt", "edited\n")
    await salvage(repo.path, "saved")
    assert repo.git("log", "-1", "--format=%an <%ae>") == "codefleet <codefleet@localhost>"


async def test_a_clone_inside_the_worktree_is_neither_committed_nor_archived(
    repo: SampleRepo,
) -> None:
    repo.git("clone", "--quiet", str(repo.path), "vendor")
    assert await salvage(repo.path, "nothing") is None
    assert repo.git("for-each-ref", "refs/fleet") == ""


@pytest.mark.parametrize("tracked", [False, True], ids=["new", "a submodule"])
@pytest.mark.parametrize("link", ["a file", "a link", "a folder"])
async def test_a_folder_that_is_tied_to_a_checkout_elsewhere_is_saved_and_that_is_left_alone(
    repo: SampleRepo, tmp_path: Path, link: str, tracked: bool
) -> None:
    worktree, git = tmp_path / "1", repo.path / ".git"
    repo.git("worktree", "add", "--quiet", "-b", "fleet/k3", str(worktree))
    tie = repo.write("inner/new.txt", "new\n", at=worktree).with_name(".git")
    if link == "a file":
        tie.write_text(f"gitdir: {git}\n")
    elif link == "a link":
        tie.symlink_to(git)
    else:
        repo.write("inner/.git/commondir", f"{git}\n", at=worktree)
        repo.write("inner/.git/HEAD", "ref: refs/heads/main\n", at=worktree)
    if tracked:
        entry = f"160000,{repo.sha('main')},inner"
        repo.git("update-index", "--add", "--cacheinfo", entry, at=worktree)
    before = repo.sha("main"), (git / "index").read_bytes(), (git / "HEAD").read_bytes()
    assert await salvage(worktree, "Save")
    assert repo.read("fleet/k3", "inner/new.txt") == "new\n"
    assert repo.git("ls-tree", "-r", "--name-only", "fleet/k3", "inner") == "inner/new.txt"
    assert (repo.sha("main"), (git / "index").read_bytes(), (git / "HEAD").read_bytes()) == before


@pytest.mark.parametrize("way", ["a link", "a link for a submodule", "a path that leads out"])
async def test_a_checkout_that_a_link_or_a_path_leads_to_is_left_alone(
    repo: SampleRepo, tmp_path: Path, way: str
) -> None:
    worktree, other = tmp_path / "1", make_repo(tmp_path / "other")
    repo.git("worktree", "add", "--quiet", "-b", "fleet/k3", str(worktree))
    other.write("edited.txt", "by its user\n")
    if way != "a path that leads out":
        (worktree / "link").symlink_to(other.path)
    if way == "a link for a submodule":
        entry = f"160000,{other.sha('main')},link"
        repo.git("update-index", "--add", "--cacheinfo", entry, at=worktree)
    if way == "a path that leads out":
        forge_gitlink(repo, worktree, b"../other", other.sha("main"))
    before = other.sha("main"), other.git("status", "--porcelain"), sorted(other.path.iterdir())
    with suppress(WorkspaceTrouble):
        await salvage(worktree, "Save")
    after = other.sha("main"), other.git("status", "--porcelain"), sorted(other.path.iterdir())
    assert after == before


def forge_gitlink(repo: SampleRepo, worktree: Path, path: bytes, commit: str) -> None:
    """Write an index with a path that git itself would refuse."""
    entry = bytes(24) + (0o160000).to_bytes(4) + bytes(12) + bytes.fromhex(commit)
    entry += len(path).to_bytes(2) + path
    text = b"DIRC" + (2).to_bytes(4) + (1).to_bytes(4) + entry + bytes(8 - len(entry) % 8)
    index = Path(repo.git("rev-parse", "--absolute-git-dir", at=worktree)) / "index"
    index.write_bytes(text + sha1(text, usedforsecurity=False).digest())


async def test_a_worktree_of_the_agents_own_stays_one_if_the_home_is_behind_a_link(
    repo: SampleRepo, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    worktree = tmp_path / "real" / "1"
    repo.git("worktree", "add", "--quiet", "-b", "fleet/k3", str(worktree))
    repo.git("worktree", "add", "--quiet", "-b", "side", "inner", at=worktree)
    await salvage(tmp_path / "alias" / "1", "Save", "fleet/k3")
    assert (worktree / "inner" / ".git").is_file()
    assert repo.git("ls-tree", "-r", "--name-only", "fleet/k3", "inner") == ""


async def test_a_worktree_inside_the_worktree_moves_no_branch(
    repo: SampleRepo, tmp_path: Path
) -> None:
    worktree = tmp_path / "1"
    repo.git("worktree", "add", "--quiet", "-b", "fleet/k3", str(worktree))
    repo.git("worktree", "add", "--quiet", "-b", "side", "inner", at=worktree)
    (repo.path / ".git" / "worktrees" / "inner" / "HEAD").write_text("ref: refs/heads/main\n")
    repo.write("inner/new.txt", "new\n", at=worktree)
    before = repo.sha("main")
    await salvage(worktree, "Save", "fleet/k3")
    assert repo.sha("main") == before
    assert repo.saved("new.txt") == {"new\n"}


async def test_an_archive_never_overwrites_another_commit(repo: SampleRepo) -> None:
    first, second = repo.sha("HEAD"), repo.commit("second")
    assert await archive(repo.path, "k3", first) == "refs/fleet/archive/k3"
    assert await archive(repo.path, "k3", first) == "refs/fleet/archive/k3"
    assert await archive(repo.path, "k3", second) == "refs/fleet/archive/k3-2"
    assert await archive(repo.path, "k3", second) == "refs/fleet/archive/k3-2"
    assert repo.sha("refs/fleet/archive/k3") == first


@pytest.mark.parametrize("name", ["k3/below", "bad..name", "bad.lock"])
async def test_an_archive_that_cannot_be_made_is_an_error(repo: SampleRepo, name: str) -> None:
    await archive(repo.path, "k3", repo.sha("HEAD"))
    with pytest.raises(WorkspaceTrouble, match="cannot keep"):
        await archive(repo.path, name, repo.sha("HEAD"))


async def test_a_landed_branch_is_deleted_without_an_archive(repo: SampleRepo) -> None:
    repo.git("branch", "fleet/k3")
    repo.commit("trunk goes on")
    assert await drop_branch(repo.path, "fleet/k3", "main", "k3") is None
    assert repo.git("branch", "--list", "fleet/*") == ""
    assert repo.git("for-each-ref", "refs/fleet") == ""


@pytest.mark.parametrize("trunk", ["main", "gone"])
async def test_a_branch_off_the_trunk_is_archived_before_it_is_deleted(
    repo: SampleRepo, trunk: str
) -> None:
    repo.git("checkout", "--quiet", "-b", "fleet/k3")
    tip = repo.commit("unlanded")
    repo.git("checkout", "--quiet", "main")
    assert await drop_branch(repo.path, "fleet/k3", trunk, "k3") == "refs/fleet/archive/k3"
    assert repo.sha("refs/fleet/archive/k3") == tip
    assert repo.git("branch", "--list", "fleet/*") == ""


async def test_a_branch_that_is_checked_out_is_not_deleted(
    repo: SampleRepo, tmp_path: Path
) -> None:
    repo.git("worktree", "add", "-b", "fleet/k3", str(tmp_path / "w"))
    with pytest.raises(WorkspaceTrouble, match="checked out"):
        await drop_branch(repo.path, "fleet/k3", "main", "k3")
    assert repo.sha("fleet/k3")


async def test_a_branch_that_cannot_be_deleted_is_an_error_and_stays_archived(
    repo: SampleRepo,
) -> None:
    repo.git("checkout", "--quiet", "-b", "fleet/k3")
    tip = repo.commit("unlanded")
    repo.git("checkout", "--quiet", "main")
    (repo.path / ".git" / "refs" / "heads" / "fleet" / "k3.lock").mkdir()
    with pytest.raises(WorkspaceTrouble, match="cannot delete fleet/k3"):
        await drop_branch(repo.path, "fleet/k3", "main", "k3")
    assert repo.sha("fleet/k3") == repo.sha("refs/fleet/archive/k3") == tip


async def test_a_missing_branch_needs_no_deletion(repo: SampleRepo) -> None:
    assert await drop_branch(repo.path, "fleet/k3", "main", "k3") is None


async def test_commits_on_a_branch_of_the_agents_own_come_home(repo: SampleRepo) -> None:
    repo.git("checkout", "--quiet", "-b", "fleet/k3")
    repo.git("checkout", "--quiet", "-b", "feature/own-idea")
    tip = repo.commit("elsewhere")
    assert await fast_forward_to_head(repo.path, "fleet/k3")
    assert repo.sha("fleet/k3") == tip
    assert repo.git("symbolic-ref", "--short", "HEAD") == "fleet/k3"


async def test_a_history_that_parted_from_the_branch_does_not_replace_it(
    repo: SampleRepo,
) -> None:
    repo.git("checkout", "--quiet", "-b", "fleet/k3")
    tip = repo.commit("work")
    repo.git("checkout", "--quiet", "--detach", "main")
    repo.commit("elsewhere")
    assert not await fast_forward_to_head(repo.path, "fleet/k3")
    assert repo.sha("fleet/k3") == tip


@pytest.mark.slow
async def test_the_lock_on_all_refs_that_a_killed_git_left_is_no_obstacle(repo: SampleRepo) -> None:
    repo.git("branch", "fleet/k3")
    repo.git("pack-refs", "--all")
    for left in ("packed-refs.lock", "packed-refs.new"):
        (repo.path / ".git" / left).write_text("half")
    assert await drop_branch(repo.path, "fleet/k3", "main", "k3") is None
    assert repo.git("for-each-ref", "refs/heads/fleet/") == ""
