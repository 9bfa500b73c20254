"""The user's own checkout: it moves with its files, or it waits and nothing is touched."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.landing.checkout import forward, recover, where
from tests.gitrepo import ALONE, SampleRepo, make_repo
from tests.trap import Trap

LINK = "-> "
FILES = {
    "a.txt": "a\n",
    "b.txt": "b\n",
    "gone.txt": "gone\n",
    "dir/c.txt": "c\n",
    "run.sh": "run\n",
}


class Desk:
    """A repository whose checkout is at `old`, and a commit `new` that it can move to."""

    def __init__(self, home: Path, old: dict[str, str], new: dict[str, str]) -> None:
        self.home = home
        self.repo = make_repo(home / "repo", {**old, ".gitignore": "*.ignored\n"})
        self.path = self.repo.path
        self.old = self.repo.sha("main")
        self.new = self._commit(new)
        self.journal = home / "lane" / "journal.json"

    def _commit(self, files: dict[str, str]) -> str:
        folder = self.home / "draft"
        self.repo.git("worktree", "add", "-q", "--detach", str(folder))
        self.repo.git("rm", "-rq", ".", at=folder)
        for path, text in {**files, ".gitignore": "*.ignored\n"}.items():
            if text.startswith(LINK):
                (folder / path).symlink_to(text.removeprefix(LINK))
            else:
                self.repo.write(path, text, at=folder)
        commit = self.repo.commit("new", at=folder)
        self.repo.git("worktree", "remove", "--force", str(folder))
        self.repo.git("update-ref", "refs/test/new", commit)
        return commit

    async def forward(self) -> str | None:
        return await forward(self.path, "main", self.old, self.new, self.journal)

    async def waits(self) -> str:
        """The refusal; nothing may have changed."""
        before = self.everything()
        why = await self.forward()
        assert why
        assert self.everything() == before
        return why

    def everything(self) -> dict[str, object]:
        """Every file of the checkout and of its index: content, mode and time."""
        files = [f for f in self.path.rglob("*") if ".git" not in f.relative_to(self.path).parts]
        files += [self.path / ".git" / "index", self.path / ".git" / "HEAD"]
        return {str(f): (f.lstat().st_mtime_ns, f.lstat().st_mode, _content(f)) for f in files} | {
            "main": self.repo.sha("main"),
            "extra": self.leftovers(),
        }

    def leftovers(self) -> list[str]:
        git = self.path / ".git"
        locks = [f for f in git.rglob("*.lock") if f.name != "index.lock"]
        return sorted(f.name for f in [*git.glob("index.*"), *locks])

    def check_at(self, commit: str) -> None:
        """The checkout is exactly this commit, and nothing is left half done."""
        assert self.repo.sha("HEAD") == commit
        assert self.repo.git("status", "--porcelain") == ""
        assert self.leftovers() == []
        assert not self.journal.exists()


def _content(file: Path) -> bytes | str | None:
    if file.is_symlink():
        return os.fspath(file.readlink())
    return file.read_bytes() if file.is_file() else None


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    new = {"a.txt": "a, new\n", "b.txt": "b\n", "dir/c.txt": "c, new\n", "run.sh": "run\n"}
    return Desk(tmp_path, FILES, {**new, "more/d.txt": "d\n"})


async def test_a_clean_checkout_moves_with_its_files_and_its_index(desk: Desk) -> None:
    desk.repo.write("notes", "untracked\n")
    assert await desk.forward() is None
    assert (desk.path / "a.txt").read_text() == "a, new\n"
    assert not (desk.path / "gone.txt").exists()
    assert (desk.path / "notes").read_text() == "untracked\n"
    (desk.path / "notes").unlink()
    desk.check_at(desk.new)
    assert "fleet: land" in desk.repo.git("reflog", "-1")


async def test_a_file_that_was_only_touched_is_no_edit(desk: Desk) -> None:
    (desk.path / "a.txt").write_text("a\n")
    os.utime(desk.path / "a.txt", ns=(1, 1))
    assert await desk.forward() is None
    desk.check_at(desk.new)


EDITS: dict[str, Callable[[SampleRepo], object]] = {
    "an edit of a file that the landing changes": lambda r: r.write("a.txt", "mine\n"),
    "an edit of another file": lambda r: r.write("b.txt", "mine\n"),
    "a deleted file": lambda r: (r.path / "b.txt").unlink(),
    "a staged edit": lambda r: (r.write("b.txt", "mine\n"), r.git("add", "b.txt")),
    "a staged new file": lambda r: (r.write("e.txt", "mine\n"), r.git("add", "e.txt")),
    "a changed mode": lambda r: (r.path / "run.sh").chmod(0o755),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
async def test_local_edits_make_it_wait_untouched(
    desk: Desk, edit: Callable[[SampleRepo], object]
) -> None:
    edit(desk.repo)
    assert "local edits" in await desk.waits()


async def test_an_edit_that_git_can_only_see_by_its_content_is_seen(desk: Desk) -> None:
    file, index = desk.path / "a.txt", desk.path / ".git" / "index"
    desk.repo.git("config", "core.trustctime", "false")
    moment = 10**18
    os.utime(file, ns=(moment, moment))
    desk.repo.git("update-index", "--refresh")
    with file.open("r+") as same_inode:
        same_inode.write("A")
    os.utime(file, ns=(moment, moment))
    os.utime(index, ns=(moment, moment))
    assert "a.txt" in await desk.waits()


async def test_up_to_three_paths_are_named_and_shown_safely(tmp_path: Path) -> None:
    names = ["a\nb", "ünï", "c", "d", "e"]
    desk = Desk(tmp_path, dict.fromkeys(names, "x\n"), {"f": "x\n"})
    for name in names:
        desk.repo.write(name, "mine\n")
    why = await desk.waits()
    assert "a\\nb, c, d and 2 more" in why
    assert "\n" not in why


async def test_an_untracked_file_in_the_way_makes_it_wait_and_is_named(desk: Desk) -> None:
    desk.repo.write("more/d.txt", "mine\n")
    assert "untracked files in the way: more/d.txt" in await desk.waits()


async def test_a_file_where_the_landing_needs_a_folder_makes_it_wait(desk: Desk) -> None:
    desk.repo.write("more", "mine\n")
    assert "in the way: more;" in await desk.waits()


async def test_a_link_where_the_landing_needs_a_folder_makes_it_wait(desk: Desk) -> None:
    (desk.home / "far").mkdir()
    (desk.path / "more").symlink_to(desk.home / "far")
    assert "in the way: more;" in await desk.waits()
    assert list((desk.home / "far").iterdir()) == []


async def test_an_ignored_file_in_the_way_makes_it_wait(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a": "a\n"}, {"a": "a\n"})
    blob = desk.repo.git("hash-object", "-w", "a")
    desk.repo.git("read-tree", desk.old)
    desk.repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},x.ignored")
    tree = desk.repo.git("write-tree")
    desk.new = desk.repo.git("commit-tree", "-p", desk.old, "-m", "new", tree)
    desk.repo.git("reset", "-q", "--hard")
    desk.repo.write("x.ignored", "mine\n")
    assert "x.ignored" in await desk.waits()


async def test_untracked_files_in_a_folder_that_becomes_a_file_make_it_wait(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, {"dir/c.txt": "c\n"}, {"dir": "a file now\n"})
    desk.repo.write("dir/x.ignored", "mine\n")
    assert "dir/x.ignored" in await desk.waits()


async def test_a_merge_in_progress_makes_it_wait(desk: Desk) -> None:
    desk.repo.git("merge", "-q", "--no-commit", "--no-ff", "-s", "ours", desk.new)
    assert "in the middle of a merge" in await desk.waits()


async def test_a_lock_of_the_user_s_own_git_makes_it_wait_and_stays(desk: Desk) -> None:
    lock = desk.path / ".git" / "index.lock"
    lock.touch()
    before = desk.everything()
    why = await desk.forward()
    assert why
    assert "a git command is running" in why
    assert str(lock) in why
    assert desk.everything() == before


async def test_the_trunk_is_found_where_it_is_checked_out(desk: Desk) -> None:
    assert await where(desk.path, "main") == desk.path
    assert await where(desk.path, "other") is None
    desk.repo.git("switch", "-q", "-c", "other")
    assert await where(desk.path, "main") is None
    linked = desk.home / "linked\n tree"
    desk.repo.git("worktree", "add", "-q", str(linked), "main")
    assert await where(desk.path, "main") == linked


async def test_a_worktree_that_was_deleted_has_nothing_checked_out(desk: Desk) -> None:
    desk.repo.git("switch", "-q", "-c", "other")
    desk.repo.git("worktree", "add", "-q", str(desk.home / "linked"), "main")
    (desk.home / "linked").rename(desk.home / "moved away")
    assert await where(desk.path, "main") is None


async def test_a_trunk_that_is_being_rebased_or_bisected_is_still_in_use(desk: Desk) -> None:
    desk.repo.git("bisect", "start")
    desk.repo.git("switch", "-q", "--detach")
    assert await where(desk.path, "main") == desk.path
    assert "in the middle of a bisect" in await desk.waits()
    desk.repo.git("bisect", "reset")
    desk.repo.commit("mine")
    desk.repo.git("-c", "sequence.editor=echo break >", "rebase", "-q", "-i", "HEAD^")
    assert await where(desk.path, "main") == desk.path
    assert "in the middle of a rebase" in await desk.waits()


async def test_a_linked_worktree_moves_too(desk: Desk) -> None:
    desk.repo.git("switch", "-q", "-c", "other")
    linked = desk.home / "linked"
    desk.repo.git("worktree", "add", "-q", str(linked), "main")
    assert await forward(linked, "main", desk.old, desk.new, desk.journal) is None
    assert desk.repo.git("status", "--porcelain", at=linked) == ""
    assert (linked / "a.txt").read_text() == "a, new\n"
    assert desk.repo.git("status", "--porcelain") == ""


AT_READ_TREE = 'case "$*" in *read-tree*) once && {{ {then}; }} ;; esac'
AT_UPDATE_REF = 'case "$*" in *update-ref*) once && {{ {then}; }} ;; esac'


async def test_an_edit_at_the_last_moment_is_kept_and_it_waits(desk: Desk, trap: Trap) -> None:
    trap.plan(AT_READ_TREE.format(then="echo mine > a.txt"))
    why = await desk.forward()
    assert trap.sprung
    assert why
    assert "a.txt" in why
    assert desk.repo.git("status", "--porcelain").splitlines() == [" M a.txt"]
    assert (desk.path / "a.txt").read_text() == "mine\n"
    assert desk.repo.sha("main") == desk.old
    assert desk.leftovers() == []


async def test_a_new_file_at_the_last_moment_is_kept_and_it_waits(desk: Desk, trap: Trap) -> None:
    trap.plan(AT_READ_TREE.format(then="mkdir more; echo mine > more/d.txt"))
    assert await desk.forward()
    assert (desk.path / "more" / "d.txt").read_text() == "mine\n"
    assert desk.repo.sha("main") == desk.old


async def test_an_edit_elsewhere_at_the_last_moment_is_kept_while_it_moves(
    desk: Desk, trap: Trap
) -> None:
    trap.plan(AT_READ_TREE.format(then="echo mine > b.txt"))
    assert await desk.forward() is None
    assert desk.repo.git("status", "--porcelain").splitlines() == [" M b.txt"]
    assert desk.repo.sha("HEAD") == desk.new


async def test_an_edit_staged_at_the_last_moment_is_kept_and_it_waits(
    desk: Desk, trap: Trap
) -> None:
    stage = "echo mine > b.txt; own add b.txt"
    trap.plan(f'case "$*" in *diff-tree*) once && {{ {stage}; }} ;; esac')
    assert await desk.forward()
    assert desk.repo.git("status", "--porcelain").splitlines() == ["M  b.txt"]
    assert desk.repo.sha("main") == desk.old
    assert desk.leftovers() == []


async def test_a_commit_at_the_last_moment_puts_the_files_back(desk: Desk, trap: Trap) -> None:
    commit = 'own update-ref HEAD $(own commit-tree -p HEAD -m mine "HEAD^{{tree}}")'
    trap.plan(AT_UPDATE_REF.format(then=commit.format()))
    assert await desk.forward()
    assert trap.sprung
    mine = desk.repo.sha("main")
    assert mine not in (desk.old, desk.new)
    desk.check_at(mine)


async def test_a_switch_at_the_last_moment_leaves_the_files_with_the_new_branch(
    desk: Desk, trap: Trap
) -> None:
    switch = "own branch mine; own symbolic-ref HEAD refs/heads/mine"
    trap.plan(AT_UPDATE_REF.format(then=switch))
    assert await desk.forward() is None
    assert desk.repo.sha("main") == desk.new
    assert desk.repo.git("branch", "--show-current") == "mine"
    desk.check_at(desk.old)


async def test_the_index_is_locked_against_the_user_s_git_while_files_move(
    desk: Desk, trap: Trap
) -> None:
    trap.plan(AT_UPDATE_REF.format(then="own add . 2> $home/said"))
    assert await desk.forward() is None
    assert "index.lock': File exists" in (trap.home / "said").read_text()
    desk.check_at(desk.new)


async def test_whoever_sees_the_branch_moved_sees_its_index_too(desk: Desk, trap: Trap) -> None:
    """Otherwise, a commit that the user is just starting would revert what has landed."""
    look = "own diff-index --cached --quiet HEAD || : > $home/torn"
    trap.plan(f'case "$*" in *update-ref*) "$GIT" "$@"; {look}; exit;; esac')
    assert await desk.forward() is None
    assert not (trap.home / "torn").exists()
    desk.check_at(desk.new)


async def test_the_index_stays_where_the_branch_cannot_move(desk: Desk, trap: Trap) -> None:
    """Otherwise, a commit that the user is just starting would contain what did not land."""
    commit = 'own update-ref HEAD $(own commit-tree -p HEAD -m mine "HEAD^{tree}")'
    look = "own diff-index --cached --quiet HEAD || : > $home/torn"
    trap.plan(
        f'case "$*" in *update-ref*) {commit}; "$GIT" "$@"; code=$?; {look}; exit $code;; esac'
    )
    assert await desk.forward()
    assert not (trap.home / "torn").exists()
    desk.check_at(desk.repo.sha("main"))


async def test_a_stop_takes_effect_when_the_files_have_moved(desk: Desk, trap: Trap) -> None:
    gate = desk.home / "gate"
    os.mkfifo(gate)
    trap.plan(AT_READ_TREE.format(then=f"read go < {gate}"))
    moving = asyncio.create_task(desk.forward())
    opened = await asyncio.to_thread(gate.open, "w")  # opens once git waits there
    moving.cancel()
    await asyncio.sleep(0)
    opened.close()
    with pytest.raises(asyncio.CancelledError):
        await moving
    desk.check_at(desk.new)


SHAPES = {
    "a file becomes a folder": ({"x": "x\n"}, {"x/y/z": "z\n"}),
    "a folder becomes a file": ({"x/y/z": "z\n", "x/w": "w\n"}, {"x": "x\n"}),
    "odd names": (
        {"a\nb": "1\n", "ünï code": "1\n"},
        {"a\nb": "2\n", "-f": "2\n", "\udcff": "2\n"},
    ),
    "an empty file": ({"x": ""}, {"x": "x\n", "y": ""}),
}
DEATHS = {
    "before the files": ("read-tree", "kill -9 $$"),
    "after the files": ("read-tree", '"$GIT" "$@"; kill -9 $$'),
    "before the branch": ("update-ref", "kill -9 $$"),
    "after the branch": ("update-ref", '"$GIT" "$@"; kill -9 $$'),
}


async def die(desk: Desk, trap: Trap, word: str, deed: str) -> None:
    """End the move as if git and the runner were killed there: no later git works either."""
    trap.plan(
        f'[ -e $home/dead ] && kill -9 $$; case "$*" in *{word}*) : > $home/dead; {deed};; esac'
    )
    with pytest.raises(WorkspaceTrouble):
        await desk.forward()
    assert desk.journal.exists()
    trap.plan("")


@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS.keys())
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
async def test_recovery_ends_at_old_or_at_new(
    tmp_path: Path,
    trap: Trap,
    shape: tuple[dict[str, str], dict[str, str]],
    death: tuple[str, str],
) -> None:
    desk = Desk(tmp_path, *shape)
    await die(desk, trap, *death)
    assert await recover(desk.journal) is None
    desk.check_at(desk.new if death == DEATHS["after the branch"] else desk.old)


async def test_after_recovery_the_move_can_be_made(desk: Desk, trap: Trap) -> None:
    await die(desk, trap, *DEATHS["after the files"])
    assert await desk.forward() is None
    desk.check_at(desk.new)


async def test_a_file_that_git_was_writing_when_it_died_is_put_back(desk: Desk, trap: Trap) -> None:
    await die(desk, trap, *DEATHS["after the files"])
    (desk.path / "a.txt").write_text("a, n")
    (desk.path / "more" / "d.txt").write_text("")
    (desk.path / "dir" / "c.txt").unlink()
    assert await recover(desk.journal) is None
    assert not (desk.path / "more").exists()
    desk.check_at(desk.old)


async def test_a_file_that_git_was_writing_when_it_died_is_finished(desk: Desk, trap: Trap) -> None:
    await die(desk, trap, *DEATHS["after the branch"])
    (desk.path / "a.txt").write_text("a, n")
    assert await recover(desk.journal) is None
    desk.check_at(desk.new)


@pytest.mark.parametrize("death", ["after the files", "after the branch"])
async def test_what_the_user_wrote_since_the_crash_stays(
    desk: Desk, trap: Trap, death: str
) -> None:
    await die(desk, trap, *DEATHS[death])
    desk.repo.write("a.txt", "a, new\nand mine\n")
    desk.repo.write("more/d.txt", "mine\n")
    desk.repo.write("b.txt", "mine\n")
    desk.repo.write("notes", "mine\n")
    assert await recover(desk.journal) is None
    assert (desk.path / "a.txt").read_text() == "a, new\nand mine\n"
    for name in ("more/d.txt", "b.txt", "notes"):
        assert (desk.path / name).read_text() == "mine\n"
    changed = {line[3:] for line in desk.repo.git("status", "--porcelain", "-uall").splitlines()}
    assert changed == {"a.txt", "more/d.txt", "b.txt", "notes"}
    assert desk.leftovers() == []


async def test_a_folder_with_files_of_the_user_s_is_not_given_up_for_a_file(
    tmp_path: Path, trap: Trap
) -> None:
    desk = Desk(tmp_path, {"x": "x\n", "a": "a\n"}, {"x/y/z": "z\n"})
    await die(desk, trap, *DEATHS["after the files"])
    desk.repo.write("x/mine", "mine\n")
    assert await recover(desk.journal) is None
    assert (desk.path / "x" / "mine").read_text() == "mine\n"
    assert desk.repo.git("status", "--porcelain", "-uall").splitlines() == [" D x", "?? x/mine"]
    assert desk.leftovers() == []


async def test_a_checkout_behind_a_link_is_recovered_too(desk: Desk, trap: Trap) -> None:
    link = desk.home / "link"
    link.symlink_to(desk.path)
    desk.path = link
    await die(desk, trap, *DEATHS["after the files"])
    assert await recover(desk.journal) is None
    desk.check_at(desk.old)


async def test_a_journal_that_cannot_be_written_is_told_in_a_sentence(desk: Desk) -> None:
    desk.repo.write("lane", "a file where the lane's folder should be", at=desk.home)
    before = desk.everything()
    with pytest.raises(WorkspaceTrouble, match="cannot move the trunk"):
        await desk.forward()
    assert desk.everything() == before


async def test_a_checkout_that_the_user_unlocked_by_hand_is_the_user_s(
    desk: Desk, trap: Trap
) -> None:
    await die(desk, trap, *DEATHS["after the files"])
    (desk.path / ".git" / "index.lock").unlink()
    desk.repo.git("add", "--all")
    mine = desk.repo.git("write-tree")
    assert await recover(desk.journal) is None
    assert desk.repo.git("write-tree") == mine
    assert (desk.path / "a.txt").read_text() == "a, new\n"
    assert desk.leftovers() == []


async def test_a_lock_that_is_not_ours_is_left_by_recovery(desk: Desk, trap: Trap) -> None:
    await die(desk, trap, *DEATHS["after the files"])
    lock = desk.path / ".git" / "index.lock"
    lock.write_bytes(b"")
    assert await recover(desk.journal) is None
    assert lock.exists()
    assert (desk.path / "a.txt").read_text() == "a, new\n"


async def test_a_move_that_only_had_to_unlock_leaves_files_and_index(
    desk: Desk, trap: Trap
) -> None:
    await die(desk, trap, *DEATHS["after the branch"])
    lock, journal = desk.path / ".git" / "index.lock", desk.journal.read_bytes()
    text = lock.read_bytes()
    assert await recover(desk.journal) is None
    lock.write_bytes(text)
    desk.journal.write_bytes(journal)
    desk.repo.write("a.txt", "edited since\n")
    desk.repo.git("reset", "-q", "--soft", desk.old)
    assert await recover(desk.journal) is None
    assert (desk.path / "a.txt").read_text() == "edited since\n"
    assert (desk.path / "more" / "d.txt").read_text() == "d\n"
    assert desk.leftovers() == []


async def test_recovery_of_a_checkout_that_is_gone_forgets_it(desk: Desk, trap: Trap) -> None:
    await die(desk, trap, *DEATHS["after the files"])
    desk.path.rename(desk.home / "moved away")
    assert await recover(desk.journal) is None
    assert not desk.journal.exists()


@pytest.mark.parametrize("death", ["after the files", "after the branch"])
async def test_a_folder_that_became_a_link_is_put_back_and_the_link_never_followed(
    tmp_path: Path, trap: Trap, death: str
) -> None:
    desk = Desk(tmp_path, {"x/y": "y\n"}, {"x": "-> ../far"})
    desk.repo.write("y", "y\n", at=desk.home / "far")
    await die(desk, trap, *DEATHS[death])
    assert (desk.path / "x").is_symlink()
    assert await recover(desk.journal) is None
    assert (desk.home / "far" / "y").read_text() == "y\n"
    desk.check_at(desk.new if death == "after the branch" else desk.old)
