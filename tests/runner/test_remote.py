"""Two machines and their remote: what one sends the other gets, and no race loses work."""

import asyncio
from pathlib import Path

import pytest

from codefleet.config import kept
from codefleet.domain.errors import Unreachable, WorkspaceTrouble
from codefleet.domain.model import Repo
from codefleet.runner.git.trunk_file import copy_repo_settings
from codefleet.runner.git.worktree_pool import Pool
from codefleet.runner.landing import merge
from codefleet.runner.sharing.reachability import Reachability
from codefleet.runner.sharing.remote import Remote, make_mirror
from codefleet.runner.sharing.sync import Sync
from tests.gitrepo import SampleRepo, make_repo
from tests.trap import Trap

BRANCH = "fleet/k3m9x2pa-paint"


class Site:
    """A bare remote, and clones of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        seed = make_repo(folder / "seed", {"README.md": "A shop.\n"})
        self.bare = SampleRepo(folder / "shop.git")
        seed.git("clone", "--quiet", "--bare", str(seed.path), str(self.bare.path))

    def clone(self, name: str) -> "Clone":
        folder = self.folder / name
        folder.mkdir()
        self.bare.git("clone", "--quiet", str(self.bare.path), str(folder / "shop"))
        repo = SampleRepo(folder / "shop")
        repo.git("config", "user.name", name)
        repo.git("config", "user.email", f"{name}@example.org")
        return Clone(folder, repo, str(self.bare.path))

    def break_off(self) -> None:
        self.bare.path.rename(self.folder / "gone.git")

    def mend(self) -> None:
        (self.folder / "gone.git").rename(self.bare.path)


class Clone:
    """One machine's clone, with everything that works on it."""

    def __init__(self, folder: Path, repo: SampleRepo, address: str) -> None:
        self.git = repo
        self.noun = Repo(
            name="shop", path=str(repo.path), trunk="main", remote=address, shared=True
        )
        self.remote = Remote(self.noun, folder / "remote.lock")
        self.pool = Pool(repo.path, folder / "worktrees", folder / "pool.lock")
        self.sync = Sync(self.remote, self.pool, Reachability())
        self._folder = folder

    def work(self, path: str, branch: str = BRANCH) -> str:
        """A commit on a task's branch, which is then checked out nowhere."""
        known = self.git.git("for-each-ref", f"refs/heads/{branch}")
        self.git.git("checkout", "--quiet", *([] if known else ["-b"]), branch)
        self.git.write(path, "made\n")
        tip = self.git.commit(f"Make {path}")
        self.git.git("checkout", "--quiet", "main")
        return tip

    async def land(self, tip: str) -> merge.Result:
        return await merge.land(
            self.git.path,
            "main",
            tip,
            message="Land it\n\nFleet-Task: k3m9x2pa",
            workspace=self._folder / "lane",
            journal=self._folder / "journal.json",
            checks=None,
            tested_tree=None,
            remote=self.remote,
        )


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


async def test_what_one_machine_sends_another_goes_on_from(site: Site) -> None:
    ada, bob = site.clone("ada"), site.clone("bob")
    tip = ada.work("paint.txt")
    await ada.remote.send_branch(BRANCH, tip)
    await bob.sync.fetch(BRANCH)
    assert bob.git.sha(BRANCH) == tip
    further = bob.work("brush.txt")
    await bob.remote.send_branch(BRANCH, further)
    await ada.sync.fetch(BRANCH)
    assert ada.git.sha(BRANCH) == further


async def test_what_was_not_sent_yet_is_gone_on_from_as_long_as_nobody_else_did(site: Site) -> None:
    ada = site.clone("ada")
    await ada.remote.send_branch(BRANCH, ada.work("paint.txt"))
    unsent = ada.work("more.txt")
    await ada.sync.fetch(BRANCH)
    assert ada.git.sha(BRANCH) == unsent


async def test_late_work_is_archived_here_and_at_the_remote(site: Site) -> None:
    ada, bob = site.clone("ada"), site.clone("bob")
    start = ada.work("paint.txt")
    await ada.remote.send_branch(BRANCH, start)
    await bob.sync.fetch(BRANCH)
    late = ada.work("late.txt")
    further = bob.work("brush.txt")
    await bob.remote.send_branch(BRANCH, further)
    await ada.sync.fetch(BRANCH)
    assert ada.git.sha(BRANCH) == further
    assert site.bare.git("for-each-ref", "--format=%(objectname)", "refs/fleet/archive/") == late


async def test_edits_in_a_worktree_are_archived_before_another_machines_work_comes(
    site: Site,
) -> None:
    ada, bob = site.clone("ada"), site.clone("bob")
    await ada.remote.send_branch(BRANCH, ada.work("paint.txt"))

    async def nobody() -> list[Path]:
        return []

    worktree = await ada.pool.take(BRANCH, "main", in_use=nobody)
    ada.git.write("unsaved.txt", "unsaved\n", at=worktree)
    await bob.sync.fetch(BRANCH)
    await bob.remote.send_branch(BRANCH, bob.work("brush.txt"))
    await ada.sync.fetch(BRANCH)
    assert site.bare.saved("unsaved.txt") == {"unsaved\n"}


async def test_a_tip_that_nobody_here_knew_is_archived_before_it_is_replaced(site: Site) -> None:
    ada, bob = site.clone("ada"), site.clone("bob")
    theirs = bob.work("theirs.txt")
    await bob.remote.send_branch(BRANCH, theirs)
    ours = ada.work("ours.txt")
    await ada.remote.send_branch(BRANCH, ours)
    assert site.bare.sha(BRANCH) == ours
    assert site.bare.reachable(theirs)


async def test_a_branch_that_was_deleted_at_the_remote_can_be_sent_again(site: Site) -> None:
    ada, bob = site.clone("ada"), site.clone("bob")
    await ada.remote.send_branch(BRANCH, ada.work("paint.txt"))
    await bob.remote.fetch(BRANCH)
    await bob.remote.drop(BRANCH)
    await bob.remote.fetch(BRANCH)
    assert await bob.remote.tip(BRANCH) is None
    again = ada.work("again.txt")
    await ada.remote.send_branch(BRANCH, again)
    assert site.bare.sha(BRANCH) == again


async def test_a_branch_that_moved_is_not_deleted(site: Site) -> None:
    ada, bob = site.clone("ada"), site.clone("bob")
    await ada.remote.send_branch(BRANCH, ada.work("paint.txt"))
    await bob.remote.fetch(BRANCH)
    further = ada.work("further.txt")
    await ada.remote.send_branch(BRANCH, further)
    await bob.remote.drop(BRANCH)
    assert site.bare.sha(BRANCH) == further


async def test_work_lands_on_top_of_what_somebody_else_pushed(site: Site) -> None:
    ada, bob = site.clone("ada"), site.clone("bob")
    tip = ada.work("paint.txt")
    bob.git.write("foreign.txt", "foreign\n")
    foreign = bob.git.commit("Foreign work")
    bob.git.git("push", "--quiet", "origin", "main")
    landed = await ada.land(tip)
    assert isinstance(landed, merge.Landed)
    assert site.bare.git("rev-parse", "main^1", "main^2").split() == [foreign, tip]
    assert ada.git.sha("main") != landed.commit  # the user's own checkout follows by a pull


async def test_a_push_between_the_last_look_and_ours_is_not_overrun(site: Site) -> None:
    ada, bob = site.clone("ada"), site.clone("bob")
    tip = ada.work("paint.txt")
    bob.git.write("foreign.txt", "foreign\n")
    foreign = bob.git.commit("Foreign work")
    looks = 0

    async def somebody_pushes() -> bool:
        nonlocal looks
        looks += 1
        if looks == 1:
            bob.git.git("push", "--quiet", "origin", "main")
        return True

    landed = await merge.land(
        ada.git.path,
        "main",
        tip,
        message="Land it",
        workspace=site.folder / "lane",
        journal=site.folder / "journal.json",
        checks=None,
        tested_tree=None,
        remote=ada.remote,
        last_look=somebody_pushes,
    )
    assert looks == 2
    assert isinstance(landed, merge.Landed)
    assert site.bare.git("rev-parse", "main^1", "main^2").split() == [foreign, tip]


async def test_a_landing_that_was_pushed_but_not_written_down_is_found(site: Site) -> None:
    ada, bob = site.clone("ada"), site.clone("bob")
    tip = ada.work("paint.txt")
    await ada.remote.send_branch(BRANCH, tip)
    first = await ada.land(tip)
    assert isinstance(first, merge.Landed)
    await bob.remote.fetch(BRANCH)
    assert await bob.land(tip) == merge.Landed(first.commit)


async def test_a_remote_that_protects_its_trunk_makes_the_landing_wait(site: Site) -> None:
    ada = site.clone("ada")
    site.bare.git("config", "receive.denyCurrentBranch", "refuse")
    hook = site.bare.path / "hooks" / "update"
    hook.write_text("#!/bin/sh\necho protected >&2\nexit 1\n")
    hook.chmod(0o755)
    found = await ada.land(ada.work("paint.txt"))
    assert isinstance(found, merge.Waits)
    assert "the remote of shop rejected main" in found.why


async def test_a_branch_that_the_remote_will_not_have_is_told(site: Site) -> None:
    ada = site.clone("ada")
    hook = site.bare.path / "hooks" / "update"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(WorkspaceTrouble, match="rejected fleet/"):
        await ada.remote.send_branch(BRANCH, ada.work("paint.txt"))


async def test_a_remote_that_is_away_closes_the_road_until_it_answers(site: Site) -> None:
    ada = site.clone("ada")
    site.break_off()
    with pytest.raises(Unreachable, match="the remote of shop cannot be reached"):
        await ada.sync.fetch(BRANCH)
    assert ada.sync.reachability.is_closed("shop")
    site.mend()
    await ada.sync.fetch(BRANCH)
    assert not ada.sync.reachability.is_closed("shop")


async def test_a_lock_that_a_killed_git_left_does_not_stop_a_fetch(site: Site) -> None:
    ada, bob = site.clone("ada"), site.clone("bob")
    bob.git.git("commit", "--quiet", "--allow-empty", "--message=news")
    bob.git.git("push", "--quiet", "origin", "main")
    lock = ada.git.path / ".git" / "refs" / "remotes" / "origin" / "main.lock"
    lock.write_text("")
    await ada.remote.fetch()
    assert await ada.remote.tip("main") == bob.git.sha("main")


async def test_a_mirror_is_made_once_and_shows_the_settings_of_the_trunk(site: Site) -> None:
    bob = site.clone("bob")
    bob.git.write("fleet.toml", 'checks = ["true"]\n')
    bob.git.commit("Say what to check")
    bob.git.git("push", "--quiet", "origin", "main")
    path = site.folder / "eve" / "mirrors" / "shop.git"
    repo = bob.noun.evolve(path=str(path))
    await make_mirror(repo)
    await make_mirror(repo)
    home = site.folder / "eve"
    assert await copy_repo_settings(home, repo)
    assert kept(home, "shop").text.strip() == 'checks = ["true"]'
    assert not await copy_repo_settings(home, repo)
    bob.git.git("rm", "--quiet", "fleet.toml")
    bob.git.commit("Check nothing")
    bob.git.git("push", "--quiet", "origin", "main")
    eve = Remote(repo, site.folder / "eve" / "lock")
    await eve.fetch()
    assert await copy_repo_settings(home, repo)
    assert kept(home, "shop").text == ""
    assert await eve.tip("main") == bob.git.sha("main")


async def test_a_mirror_can_be_worked_and_landed_from(site: Site) -> None:
    ada = site.clone("ada")
    tip = ada.work("paint.txt")
    await ada.remote.send_branch(BRANCH, tip)
    repo = ada.noun.evolve(path=str(site.folder / "eve" / "shop.git"))
    await make_mirror(repo)
    mirror = Remote(repo, site.folder / "eve" / "lock")
    pool = Pool(Path(repo.path), site.folder / "eve" / "worktrees", site.folder / "eve" / "pool")
    await Sync(mirror, pool, Reachability()).fetch(BRANCH)

    async def nobody() -> list[Path]:
        return []

    worktree = await pool.take(BRANCH, "refs/remotes/origin/main", in_use=nobody)
    assert (worktree / "paint.txt").read_text() == "made\n"


async def test_a_copy_that_cannot_be_made_says_so(site: Site) -> None:
    ada = site.clone("ada")
    repo = ada.noun.evolve(path=str(site.folder / "eve" / "shop.git"))
    site.break_off()
    with pytest.raises(Unreachable, match="cannot copy shop from"):
        await make_mirror(repo)
    assert not Path(repo.path).exists()


async def test_a_copy_that_cannot_be_made_is_tried_again_later_and_told_once(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site.folder / "eve").write_text("a file where the folder should be")
    repo = site.clone("ada").noun.evolve(path=str(site.folder / "eve" / "shop.git"))
    reachability, tried = Reachability(), asyncio.Event()

    async def news() -> list[str]:
        tried.clear()
        reachability.copy(repo, tried.set)
        async with asyncio.timeout(30):
            await tried.wait()
        return [*reachability.news()]

    (told,) = await news()
    assert told.startswith(f"cannot copy shop to {repo.path}: ")
    assert reachability.is_closed("shop")
    monkeypatch.setattr("codefleet.runner.sharing.reachability.CLOSED_S", 0.0)
    reachability = Reachability()
    assert [len(await news()) for _ in range(3)] == [1, 0, 0]
    (site.folder / "eve").unlink()
    assert await news() == []
    assert Path(repo.path).is_dir()


async def test_a_worktree_that_is_just_being_added_does_not_break_a_fetch(
    site: Site, tmp_path: Path, trap: Trap
) -> None:
    ada = site.clone("ada")
    ada.git.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "new"))
    head = ada.git.path / ".git" / "worktrees" / "new" / "HEAD"
    tip = head.read_text().strip()
    bob = site.clone("bob")
    bob.git.write("new.txt", "new\n")
    made = bob.git.commit("New")
    bob.git.git("push", "--quiet", "origin", "main")
    zeros = f"echo {'0' * 40} > {head}"
    trap.plan(
        f'case " $* " in *" fetch "*) if once; then {zeros}; else echo {tip} > {head}; fi; esac'
    )
    await ada.remote.fetch()
    assert await ada.remote.tip("main") == made
