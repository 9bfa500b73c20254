"""How one branch reaches the trunk, even if git or the runner is killed on the way."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.model import Check
from codefleet.runner.landing.merge import Conflicts, Landed, Red, Result, Rewritten, Waits, land
from tests.gitrepo import ALONE, make_repo
from tests.runner.forged import by_a_filter
from tests.trap import Trap

RED = Check(command="make test", exit_code=1, seconds=0.1)


async def green(_: Path) -> Check | None:
    return None


async def never(_: Path) -> Check | None:
    raise AssertionError("these checks need not run")


class Site:
    """A repository with its trunk checked out, a lane, and branches to land."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.repo = make_repo(home / "repo", {f"f{n}.txt": f"first {n}\n" for n in range(6)})
        self.journal = home / "lane" / "journal.json"
        self.workspace = home / "lane" / "tree"

    def branch(self, name: str, **files: str | None) -> str:
        """A commit on its own branch, made without the user's checkout."""
        folder = self.home / name
        self.repo.git("worktree", "add", "-q", "--detach", str(folder), "main")
        for file, text in files.items():
            path = file.replace("__", ".")
            (folder / path).unlink() if text is None else self.repo.write(path, text, at=folder)
        tip = self.repo.commit(name, at=folder)
        self.repo.git("branch", name, tip)
        self.repo.git("worktree", "remove", "--force", str(folder))
        return tip

    def tree(self, commit: str) -> str:
        return self.repo.git("rev-parse", f"{commit}^{{tree}}")

    async def land(
        self,
        tip: str,
        *,
        repo: Path | None = None,
        checks: Callable[[Path], Awaitable[Check | None]] = green,
        tested: str | None = None,
    ) -> Result:
        return await land(
            repo or self.repo.path,
            "main",
            tip,
            message="Land it\n\nFleet-Task: t1",
            workspace=self.workspace,
            journal=self.journal,
            checks=checks,
            tested_tree=tested,
        )

    def merges_of(self, tip: str) -> list[str]:
        lines = self.repo.git("rev-list", "--first-parent", "--parents", "main").splitlines()
        return [line.split()[0] for line in lines if tip in line.split()[2:]]

    def check_landed_once(self, tip: str) -> None:
        """The trunk has the merge exactly once, and the checkout is clean and equal to it."""
        assert len(self.merges_of(tip)) == 1
        assert self.repo.git("status", "--porcelain", "--untracked-files=no") == ""
        assert self.repo.git("diff", "main") == ""
        assert not self.journal.exists()
        assert self.leftovers() == []

    def leftovers(self) -> list[str]:
        """Locks and drafts in the user's way; a half-made worktree of the lane is not."""
        git = self.repo.path / ".git"
        locks = [file for file in git.rglob("*.lock") if git / "worktrees" not in file.parents]
        return sorted({file.name for file in (*git.glob("index.*"), *locks)})


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


async def test_a_branch_lands_as_one_merge_commit_with_its_message(site: Site) -> None:
    before = site.repo.sha("main")
    tip = site.branch("work", f1__txt="changed\n")
    result = await site.land(tip)
    assert result == Landed(site.repo.sha("main"))
    assert site.repo.git("rev-parse", "main^1", "main^2").split() == [before, tip]
    assert site.repo.git("log", "-1", "--format=%B", "main") == "Land it\n\nFleet-Task: t1\n"
    site.check_landed_once(tip)


async def test_the_same_tip_lands_once_and_says_which_commit_brought_it(site: Site) -> None:
    tip = site.branch("work", f1__txt="changed\n")
    first = await site.land(tip)
    site.repo.commit("a later commit of the user's")
    assert isinstance(first, Landed)
    assert await site.land(tip) == Landed(first.commit)
    site.check_landed_once(tip)


async def test_what_is_on_the_trunk_without_a_merge_of_ours_is_landed_already(site: Site) -> None:
    tip = site.repo.commit("committed on the trunk itself")
    assert await site.land(tip) == Landed(tip)


async def test_a_conflict_names_its_paths_and_leaves_the_trunk(site: Site) -> None:
    name = "ünï\n code.txt"
    tip = site.branch("work", **{"f1__txt": "theirs\n", name: "theirs\n"})
    site.repo.write("f1.txt", "ours\n")
    site.repo.write(name, "ours\n")
    before = site.repo.commit("ours")
    assert await site.land(tip) == Conflicts(("f1.txt", name))
    assert site.repo.sha("main") == before
    assert site.leftovers() == []


def rewritten(site: Site, how: str) -> tuple[str, str]:
    """A branch that starts from a commit of the trunk, which is then abandoned; both of them."""
    site.repo.write("key.txt", "secret\n")
    site.repo.write("kept.txt", "kept\n")
    lost = site.repo.commit("a mistake")
    tip = site.branch("work", work__txt="done\n")
    site.repo.git("reset", "--quiet", "--hard", "HEAD~1")
    if how != "dropped":
        site.repo.write("kept.txt", "kept\n")
    if how == "said anew":
        site.repo.write("key.txt", "secret\n")
    site.repo.commit("anew")
    return lost, tip


@pytest.mark.parametrize("how", ["dropped", "amended"])
async def test_what_the_user_took_off_the_trunk_does_not_come_back(site: Site, how: str) -> None:
    lost, tip = rewritten(site, how)
    before = site.repo.sha("main")
    assert await site.land(tip) == Rewritten(lost)
    assert site.repo.sha("main") == before
    site.repo.git("rebase", "--quiet", "--onto", "main", lost, "work")
    site.repo.git("checkout", "--quiet", "main")
    mended = site.repo.sha("work")
    assert isinstance(await site.land(mended), Landed)
    assert "key.txt" not in site.repo.git("ls-tree", "--name-only", "main")
    site.check_landed_once(mended)


async def test_a_trunk_that_says_the_same_in_other_commits_is_landed_on(site: Site) -> None:
    _, tip = rewritten(site, "said anew")
    assert isinstance(await site.land(tip), Landed)
    assert site.repo.read("main", "key.txt") == "secret\n"


async def test_red_checks_on_the_merge_leave_the_trunk(site: Site) -> None:
    before = site.repo.sha("main")
    tip = site.branch("work", f1__txt="changed\n")

    async def red(_: Path) -> Check | None:
        return RED

    assert await site.land(tip, checks=red) == Red(RED)
    assert site.repo.sha("main") == before


async def test_checks_see_the_merge_and_nothing_of_the_landing_before(site: Site) -> None:
    one = site.branch("one", f1__txt="one\n")
    two = site.branch("two", f2__txt="two\n")

    async def leaves_litter(folder: Path) -> Check | None:
        (folder / "litter").write_text("x")
        (folder / "f3.txt").write_text("litter")
        return None

    seen: list[dict[str, str]] = []

    async def looks(folder: Path) -> Check | None:
        files = {f.name: f.read_text() for f in folder.iterdir() if f.is_file()}
        seen.append({name: text for name, text in files.items() if name != ".git"})
        return None

    await site.land(one, checks=leaves_litter)
    await site.land(two, checks=looks)
    expected = {f"f{n}.txt": f"first {n}\n" for n in range(6)}
    assert seen == [{**expected, "f1.txt": "one\n", "f2.txt": "two\n"}]


async def test_a_check_that_puts_the_lane_on_a_branch_does_not_move_that_branch(
    site: Site,
) -> None:
    one, two = site.branch("one", f1__txt="one\n"), site.branch("two", f2__txt="two\n")

    async def switches(folder: Path) -> Check | None:
        site.repo.git("switch", "-q", "-c", "precious", "main", at=folder)
        return None

    before = site.repo.sha("main")
    await site.land(one, checks=switches)
    await site.land(two)
    assert site.repo.sha("precious") == before


async def test_a_tree_that_was_tested_already_is_not_tested_again(site: Site) -> None:
    tip = site.branch("work", f1__txt="changed\n")
    assert isinstance(await site.land(tip, checks=never, tested=site.tree(tip)), Landed)
    assert not site.workspace.exists()


async def test_a_file_that_a_check_hid_in_the_lane_is_not_there_for_the_next_landing(
    site: Site,
) -> None:
    one, two = site.branch("one", f1__txt="1\n"), site.branch("two", f2__txt="2\n")

    async def hides(folder: Path) -> Check | None:
        by_a_filter(site.repo, site.repo.write("f5.txt", "hidden\n", at=folder))
        return None

    seen = []

    async def looks(folder: Path) -> Check | None:
        seen.append((folder / "f5.txt").read_text())
        return None

    assert isinstance(await site.land(one, checks=hides), Landed)
    assert isinstance(await site.land(two, checks=looks), Landed)
    assert seen == ["first 5\n"]


async def test_a_lane_that_a_check_pointed_to_the_users_checkout_is_made_anew(site: Site) -> None:
    one, two = site.branch("one", f1__txt="1\n"), site.branch("two", f2__txt="2\n")

    async def points(folder: Path) -> Check | None:
        (folder / ".git").write_text(f"gitdir: {site.repo.path / '.git'}\n")
        return None

    assert isinstance(await site.land(one, checks=points), Landed)
    assert isinstance(await site.land(two), Landed)
    assert site.repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    site.check_landed_once(two)


async def test_a_commit_of_the_user_during_the_checks_is_merged_too(site: Site) -> None:
    tip = site.branch("work", f1__txt="changed\n")
    ran: list[str] = []

    async def user_commits(folder: Path) -> Check | None:
        ran.append((folder / "f2.txt").read_text())
        if len(ran) == 1:
            site.repo.write("f2.txt", "the user's\n")
            site.repo.commit("the user's")
        return None

    assert isinstance(await site.land(tip, checks=user_commits), Landed)
    assert ran == ["first 2\n", "the user's\n"]
    assert site.repo.read("main", "f2.txt") == "the user's\n"
    site.check_landed_once(tip)


async def test_a_trunk_that_never_rests_is_waited_for(site: Site) -> None:
    tip = site.branch("work", f1__txt="changed\n")
    count = iter(range(100))

    async def user_commits(_: Path) -> Check | None:
        site.repo.write("f2.txt", f"{next(count)}\n")
        site.repo.commit("the user's")
        return None

    result = await site.land(tip, checks=user_commits)
    assert isinstance(result, Waits)
    assert "keeps moving" in result.why
    assert site.merges_of(tip) == []


async def test_with_another_branch_checked_out_only_the_ref_moves(site: Site) -> None:
    tip = site.branch("work", f1__txt="changed\n")
    site.repo.git("switch", "-q", "-c", "elsewhere")
    site.repo.write("f1.txt", "an edit\n")
    assert isinstance(await site.land(tip), Landed)
    assert site.repo.read("main", "f1.txt") == "changed\n"
    assert (site.repo.path / "f1.txt").read_text() == "an edit\n"
    assert site.leftovers() == []


async def test_with_a_detached_head_only_the_ref_moves(site: Site) -> None:
    tip = site.branch("work", f1__txt="changed\n")
    site.repo.git("switch", "-q", "--detach")
    assert isinstance(await site.land(tip), Landed)
    assert (site.repo.path / "f1.txt").read_text() == "first 1\n"
    assert site.repo.git("status", "--porcelain") == ""


async def test_a_bare_repository_is_landed_on(site: Site) -> None:
    tip = site.branch("work", f1__txt="changed\n")
    bare = site.home / "bare.git"
    site.repo.git("clone", "-q", "--bare", str(site.repo.path), str(bare))
    result = await site.land(tip, repo=bare)
    assert isinstance(result, Landed)
    assert site.repo.git("rev-parse", "main", at=bare) == result.commit
    assert list(bare.rglob("*.lock")) == []


async def test_the_fleet_signs_where_the_user_has_no_name(site: Site) -> None:
    tip = site.branch("work", f1__txt="changed\n")
    site.repo.git("config", "--unset", "user.name")
    site.repo.git("config", "--unset", "user.email")
    result = await site.land(tip)
    assert isinstance(result, Landed)
    assert site.repo.git("log", "-1", "--format=%cn", "main") == "codefleet"


async def test_local_edits_make_it_wait_before_any_check_is_run(site: Site) -> None:
    tip = site.branch("work", f1__txt="changed\n")
    site.repo.write("f2.txt", "an edit\n")
    result = await site.land(tip, checks=never)
    assert isinstance(result, Waits)
    assert "local edits: f2.txt" in result.why


async def test_an_unknown_tip_is_told_in_a_sentence(site: Site) -> None:
    with pytest.raises(WorkspaceTrouble, match="Not a valid"):
        await site.land("0" * 39 + "1")


BEFORE = "[ $call -eq {n} ] && once && kill -9 $$"
AFTER = '[ $call -eq {n} ] && once && {{ "$GIT" "$@"; kill -9 $$; }}'


@pytest.mark.slow
@pytest.mark.parametrize("moment", [BEFORE, AFTER], ids=["before", "after"])
@pytest.mark.parametrize("checked_out", [True, False], ids=["checkout", "elsewhere"])
async def test_whichever_git_is_killed_the_branch_lands_once(
    tmp_path: Path, trap: Trap, moment: str, checked_out: bool
) -> None:
    number = 0
    while number == 0 or trap.sprung:
        number += 1
        trap.plan("")
        site = Site(tmp_path / str(number))
        tip = site.branch("work", f1__txt="changed\n", f2__txt=None, new__txt="new\n")
        site.repo.write("notes", "untracked\n")
        if not checked_out:
            site.repo.git("switch", "-q", "-c", "elsewhere")
        trap.plan(moment.format(n=number))
        assert isinstance(await site.land(tip), Landed), number
        assert (site.repo.path / "notes").read_text() == "untracked\n"
        site.repo.git("switch", "-q", "main")
        site.check_landed_once(tip)
    assert number > 7  # every git of the landing, and once more


@pytest.mark.slow
async def test_a_git_that_is_killed_every_time_is_told_and_nothing_has_moved(
    site: Site, trap: Trap
) -> None:
    before, tip = site.repo.sha("main"), site.branch("work", f1__txt="changed\n")
    trap.plan('case "$*" in *update-ref*) kill -9 $$ ;; esac')
    with pytest.raises(WorkspaceTrouble, match="killed by signal 9"):
        await site.land(tip)
    assert site.repo.sha("main") == before
    assert site.repo.git("status", "--porcelain") == ""
    assert site.leftovers() == []


async def test_checks_that_passed_are_not_run_again_because_git_was_killed(
    site: Site, trap: Trap
) -> None:
    tip = site.branch("work", f1__txt="changed\n")
    trap.plan('case "$*" in *update-ref*) once && kill -9 $$ ;; esac')
    ran: list[Path] = []

    async def counted(folder: Path) -> Check | None:
        ran.append(folder)
        return None

    assert isinstance(await site.land(tip, checks=counted), Landed)
    assert trap.sprung
    assert len(ran) == 1


@pytest.mark.slow
async def test_locks_left_on_the_branch_by_a_killed_git_are_cleared(site: Site, trap: Trap) -> None:
    tip = site.branch("work", f1__txt="changed\n")
    refs = site.repo.path / ".git"
    trap.plan(
        f"""case "$*" in *update-ref*) once && {{
            for word; do case "$word" in refs/*) new=next ;; *) [ "$new" = next ] && new=$word ;;
            esac; done
            echo $new > {refs}/refs/heads/main.lock; : > {refs}/HEAD.lock; kill -9 $$; }} ;; esac"""
    )
    assert isinstance(await site.land(tip), Landed)
    assert trap.sprung
    site.check_landed_once(tip)


def smudge(site: Site, command: str) -> None:
    """Make git run a command for every text file that it writes."""
    site.repo.write(".gitattributes", "*.txt filter=trap\n")
    site.repo.commit("attributes")
    site.repo.git("config", "filter.trap.smudge", f"{command}; cat")
    site.repo.git("config", "filter.trap.clean", "cat")


def everything(site: Site) -> dict[str, str | None]:
    """A landing that changes four files, deletes one and adds two."""
    changed: dict[str, str | None] = {f"f{n}__txt": f"second {n}\n" for n in range(4)}
    return {**changed, "f4__txt": None, "n1__txt": "new\n", "deep/er/n2__txt": "new\n"}


def nth(site: Site, number: int, then: str) -> str:
    """Shell code that does something at the n-th call, once."""
    marks = site.home / "marks"
    marks.mkdir()
    return f"c=$(ls {marks} | wc -l); touch {marks}/$c; [ $c -eq {number} ] && {then}"


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
async def test_git_killed_between_two_files_of_the_checkout_loses_nothing(
    site: Site, trap: Trap, number: int
) -> None:
    smudge(site, "true")
    tip = site.branch("work", **everything(site))
    site.repo.write("notes", "untracked\n")
    site.repo.git("config", "filter.trap.smudge", nth(site, number, f"{trap.kill_git}") + "; cat")
    assert isinstance(await site.land(tip, tested=site.tree(tip)), Landed)
    assert len(list((site.home / "marks").iterdir())) > number + 1
    assert (site.repo.path / "notes").read_text() == "untracked\n"
    site.check_landed_once(tip)


@pytest.mark.slow
@pytest.mark.parametrize("reused", [False, True])
async def test_git_killed_while_it_fills_the_lane_is_begun_again(
    site: Site, trap: Trap, reused: bool
) -> None:
    smudge(site, "true")
    tip = site.branch("work", **everything(site))
    if reused:
        await site.land(site.branch("before", f5__txt="before\n"))
    site.repo.git("config", "filter.trap.smudge", nth(site, 2, str(trap.kill_git)) + "; cat")
    seen: list[str] = []

    async def looks(folder: Path) -> Check | None:
        seen.append(site.repo.git("status", "--porcelain", "--ignored", at=folder))
        return None

    assert isinstance(await site.land(tip, checks=looks), Landed)
    assert seen == [""]
    site.check_landed_once(tip)


RUNNER = """
import asyncio, os, sys
from pathlib import Path
from codefleet.runner.landing.merge import land
async def none(_): return None
os.environ["GIT_TEST_RUNNER"] = str(os.getpid())
repo, tip, workspace, journal, tree = sys.argv[1:]
asyncio.run(land(Path(repo), "main", tip, message="Land it", workspace=Path(workspace),
                 journal=Path(journal), checks=none, tested_tree=tree))
"""


def runner(site: Site, tip: str) -> "subprocess.Popen[bytes]":
    """The same landing in a separate process."""
    words = (str(site.repo.path), tip, str(site.workspace), str(site.journal), site.tree(tip))
    return subprocess.Popen([sys.executable, "-c", RUNNER, *words])


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 3, 5])
async def test_runner_and_git_killed_together_leave_what_the_next_runner_finishes(
    site: Site, trap: Trap, number: int
) -> None:
    smudge(site, "true")
    tip = site.branch("work", **everything(site))
    kill = f"{{ kill -9 $GIT_TEST_RUNNER; {trap.kill_git}; }}"
    site.repo.git("config", "filter.trap.smudge", nth(site, number, kill) + "; cat")
    assert runner(site, tip).wait(timeout=30) == -signal.SIGKILL
    assert site.journal.exists()
    assert isinstance(await site.land(tip, tested=site.tree(tip)), Landed)
    site.check_landed_once(tip)


@pytest.mark.slow
async def test_the_next_runner_waits_for_the_git_of_a_killed_one(site: Site, trap: Trap) -> None:
    smudge(site, "true")
    tip = site.branch("work", **everything(site))
    gate = site.home / "gate"
    os.mkfifo(gate)
    kill = f"{{ kill -9 $GIT_TEST_RUNNER; read x < {gate}; }}"
    site.repo.git("config", "filter.trap.smudge", nth(site, 2, kill) + "; cat")
    assert runner(site, tip).wait(timeout=30) == -signal.SIGKILL
    trap.plan("")
    next_one = asyncio.create_task(site.land(tip, tested=site.tree(tip)))
    with gate.open("w") as opened:  # opens once the orphan reads
        done, _ = await asyncio.wait([next_one], timeout=0.05)
        assert not done
        assert trap.calls == 0
        opened.write("go\n")
    assert isinstance(await next_one, Landed)
    site.check_landed_once(tip)


async def test_checks_of_two_who_both_hold_the_lane_never_share_a_folder(site: Site) -> None:
    """One was frozen and has lost the lane; it learns that only when it tries to land."""
    tips = [site.branch(f"b{n}", **{f"f{n}__txt": "theirs\n"}) for n in range(2)]
    both_check = asyncio.Barrier(2)
    seen: list[tuple[Path, str]] = []

    async def checks(folder: Path) -> Check | None:
        async with asyncio.timeout(30):
            await both_check.wait()
        seen.append((folder, site.repo.git("rev-parse", "HEAD^2", at=folder)))
        return RED

    await asyncio.gather(*(site.land(tip, checks=checks) for tip in tips))
    assert len({folder for folder, _ in seen}) == 2
    assert {commit for _, commit in seen} == set(tips)
