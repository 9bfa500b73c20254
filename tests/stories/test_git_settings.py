"""Agents that change git settings in files that all worktrees of a repository share."""

from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

import pytest

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.runner.git.config_guard import SharedSettings
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]

ELSEWHERE = {
    "for its own worktree": "git config extensions.worktreeConfig true &&"
    " git config --worktree core.worktree {there}",
    "for all worktrees": "git config extensions.worktreeConfig true &&"
    " git config core.worktree {there}",
    "for the checkout": "git config core.worktree {there}",
}


@pytest.mark.parametrize("how", ELSEWHERE)
async def test_a_folder_elsewhere_that_git_is_pointed_to_is_neither_saved_nor_cleaned(
    how: str, fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, tmp_path: Path
) -> None:
    there = tmp_path / "documents"
    there.mkdir()
    (there / "letter.txt").write_text("dear")
    (there / "README.md").write_text("mine")
    turn = ELSEWHERE[how].format(there=there)
    task = await add("Turn", "write a.txt a", f"shell {turn}", checks=["touch made-by-a-check"])
    await crew.work()
    assert {file.name: file.read_text() for file in there.iterdir()} == {
        "letter.txt": "dear",
        "README.md": "mine",
    }
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.read("main", "a.txt") == "a\n"
    assert repo.saved("letter.txt") == set()


LEFT = {
    "info/exclude": "mkdir -p {git}/info && echo '*.x' > {git}/info/exclude",
    "remote.origin.url": "git remote set-url origin {trap}.git",
    "merge.conflictstyle": "git config merge.conflictStyle diff3",
}
PUT_BACK = {
    "core.fsmonitor": "git config core.fsmonitor {trap}",
    "core.hooksPath": "git config core.hooksPath {trap}.d",
    "core.pager": "git config core.pager {trap}",
    "hooks/pre-commit": "mkdir -p {git}/hooks && cp {trap} {git}/hooks/pre-commit",
    "hooks/post-merge": "mkdir -p {git}/hooks && cp {trap} {git}/hooks/post-merge &&"
    " head -c 2000000 /dev/zero >> {git}/hooks/post-merge",
    "filter.x.clean": "git config filter.x.clean {trap} && git config filter.x.smudge {trap}",
    "merge.x.driver": "git config merge.x.driver {trap}",
    "diff.x.textconv": "git config diff.x.textconv {trap}",
    "include.path": "git config include.path {trap}.more",
    "includeif.gitdir:/.path": "git config includeIf.gitdir:/.path {trap}.more",
    "alias.st": "git config alias.st '!{trap}'",
    "credential.helper": "git config credential.helper {trap}",
    "info/attributes": "mkdir -p {git}/info && echo '*.x binary' > {git}/info/attributes",
    "core.sshCommand": "git config core.sshCommand {trap}",
    "remote.origin.url": "git remote set-url origin ext::{trap}",
    "remote.new.url": "git config remote.new.url ext::{trap}",
    "user.email": "git config user.email agent@example.org",
    "extensions.strange": "git config core.repositoryformatversion 1; "
    "git config extensions.strange 1",
    "config": "echo '[core' >> {git}/config",
    "core.bare": "git config core.bare true",
    "core.worktree": "git config core.worktree /",
    "core.excludesFile": "echo '*' > {trap}.list && git config core.excludesFile {trap}.list",
    "info/exclude": "mkdir -p {git}/info && echo '*' > {git}/info/exclude",
}


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that nobody may run."""
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/caught\ncat\n")
    trap.chmod(0o755)
    return trap


@pytest.mark.parametrize("what", LEFT)
async def test_what_was_set_for_all_worktrees_while_an_agent_worked_is_told_once_and_stays(
    what: str, fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, trap: Path
) -> None:
    repo.git("remote", "add", "origin", str(trap.with_name("origin.git")))
    does = LEFT[what].format(trap=trap, git=repo.path / ".git")
    task = await add("Set", "write a.txt a", f"shell {does}")
    await crew.work()
    before = _told_to_git(repo)
    later = await add("Go on", "write b.txt b")
    await crew.work()
    [warned] = await _warned(fleet, task)
    assert "have been put back" not in warned
    assert what.lower() in warned.lower()
    assert await _warned(fleet, later) == []
    assert _told_to_git(repo) == before
    assert (repo.read("main", "a.txt"), repo.read("main", "b.txt")) == ("a\n", "b\n")
    assert not trap.with_name("caught").exists()


@pytest.mark.parametrize("what", PUT_BACK)
async def test_what_starts_programs_breaks_the_checkout_or_hides_work_is_put_back(
    what: str, fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, trap: Path
) -> None:
    repo.git("config", "filter.lfs.clean", "cat")
    repo.git("remote", "add", "origin", str(trap.with_name("origin.git")))
    before = _told_to_git(repo)
    does = PUT_BACK[what].format(trap=trap, git=repo.path / ".git")
    task = await add("Set", "write a.txt a", f"shell {does}")
    await crew.work()
    assert _told_to_git(repo) == before
    [warned] = await _warned(fleet, task)
    assert "have been put back" in warned
    assert ("config" if what == "extensions.strange" else what.lower()) in warned.lower()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.read("main", "a.txt") == "a\n"
    assert repo.git("status", "--porcelain") == ""
    assert not trap.with_name("caught").exists()


EVERY_TRAP = """\
for way in clean smudge process; do git config filter.x.$way {trap}; done
git config merge.x.driver "{trap} %A %O %B"
git config core.fsmonitor {trap}
git config core.hooksPath {trap}.d
git config core.alternateRefsCommand {trap}
git config diff.x.textconv {trap}
git config diff.external {trap}
git config gpg.program {trap}
mkdir -p {git}/info {trap}.d
echo '* filter=x merge=x diff=x' > {git}/info/attributes
for hook in post-checkout reference-transaction post-index-change; do cp {trap} {trap}.d/$hook; done
"""


async def test_the_fleets_git_starts_nothing_that_an_agent_set_while_others_work(
    fleet: Fleet,
    repo: SampleRepo,
    crew: Crew,
    add: Add,
    trap: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KEY_OF_THE_RUNNER", "sesame")
    trap.write_text(f"#!/bin/sh\nenv >> {trap.with_name('caught')}\ncat\n")
    script = trap.with_name("set-traps")
    script.write_text(EVERY_TRAP.format(trap=trap, git=repo.path / ".git"))
    gate = trap.with_name("gate")
    wait = f"shell while ! test -e {gate}; do sleep 0.02; done"
    await add("First", f"shell sh {script}", "write a.txt first", wait)
    await add("Second", "write a.txt second", wait)

    async def both_are_done() -> bool:
        if any(e.kind == "conflict.found" for e in await fleet.events()):
            gate.touch()  # so the radar has taken its snapshots
        return any(t.state is State.COMPLETED for t in await fleet.list(TaskQuery()))

    await crew.until(crew.loop(radar_s=0.1), both_are_done)
    assert gate.exists()
    assert not trap.with_name("caught").exists()


def _told_to_git(repo: SampleRepo) -> tuple[list[str], list[str]]:
    """The settings, and the files beside them."""
    folders = [repo.path / ".git" / name for name in ("hooks", "info")]
    files = [f"{file}: {file.read_text()}" for each in folders for file in each.glob("*")]
    return sorted(repo.git("config", "--local", "--list").splitlines()), sorted(files)


async def _warned(fleet: Fleet, task: Task) -> list[str]:
    return [e.text for e in await fleet.events(task=task.id) if e.kind == "run.warned"]


async def test_what_git_writes_down_in_passing_stays(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    passing = "git remote add fork ../fork && git config branch.topic.remote fork"
    task = await add("Pass", "write a.txt a", f"shell {passing}")
    await crew.work()
    assert repo.git("config", "remote.fork.url") == "../fork"
    assert repo.git("config", "branch.topic.remote") == "fork"
    assert "run.warned" not in {e.kind for e in await fleet.events(task=task.id)}


async def test_a_filter_that_an_agent_set_for_its_own_worktree_is_never_run(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, tmp_path: Path
) -> None:
    own = (
        "git config extensions.worktreeConfig true",
        f"git config --worktree filter.x.clean 'touch {tmp_path}/caught; cat'",
        "echo '* filter=x' > .gitattributes",
    )
    task = await add("Own", f"shell {' && '.join(own)}", "write a.txt a")
    await crew.work(radar_s=0.1)
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert not (tmp_path / "caught").exists()


@pytest.mark.parametrize("where", [".", "nested"])
async def test_a_repository_that_an_agent_made_starts_nothing(
    where: str, fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, trap: Path
) -> None:
    makes = (
        f"mkdir -p {where} && cd {where} && rm -f .git && git init --quiet",
        f"git config filter.x.clean {trap}",
        f"git config core.fsmonitor {trap}",
        "mkdir -p .git/info && echo '* filter=x' > .git/info/attributes",
        "echo b > b.txt",
    )
    await add("Make", f"shell {' && '.join(makes)}", "write a.txt a")
    await crew.work()
    assert repo.saved("b.txt") == {"b\n"}
    assert not trap.with_name("caught").exists()


async def test_a_submodule_that_an_agent_made_starts_nothing(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, trap: Path
) -> None:
    makes = (
        "mkdir till && cd till && git init --quiet && echo a > a.txt && git add a.txt",
        "git -c user.name=x -c user.email=x commit --quiet --message=a && cd ..",
        "git update-index --add --cacheinfo 160000,$(git -C till rev-parse HEAD),till",
        "git commit --quiet --message=till && cd till && echo b > a.txt",
        f"git config filter.x.clean {trap} && git config core.fsmonitor {trap}",
        "mkdir -p .git/info && echo '* filter=x' > .git/info/attributes",
    )
    await add("Make", f"shell {' && '.join(makes)}", "write a.txt a", checks=["touch till/c.txt"])
    await crew.work(radar_s=0.1)
    assert repo.saved("a.txt") == {"a\n", "b\n"}
    assert not trap.with_name("caught").exists()


async def test_a_filter_of_the_user_goes_on_working(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    repo.write(".gitattributes", "*.up filter=up\n")
    repo.commit("attributes")
    repo.git("config", "filter.up.clean", "tr a-z A-Z")
    await add("Shout", "write a.up hello")
    await crew.work()
    assert repo.read("main", "a.up") == "HELLO\n"


async def test_of_two_agents_neither_makes_the_others_settings_the_usual_ones(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    wait = f"shell while ! test -e {gate}; do sleep 0.02; done"
    set_it = "shell git config user.name evil"
    await add("First", "write a.txt a", set_it, "say set", wait, set_it)

    async def is_set() -> bool:
        return any(e.text == "set" for e in await fleet.events())

    loop = crew.loop()

    async def second_is_done() -> bool:
        if not await is_set():
            return False
        if len(await fleet.list(TaskQuery())) == 1:
            await add("Second", "shell git config user.email evil", "write b.txt b")
        done = [t for t in await fleet.list(TaskQuery()) if t.state is State.COMPLETED]
        if done:
            gate.touch()
        return len(done) == 2

    await crew.until(loop, second_is_done)
    kept = repo.git("config", "--local", "--list")
    assert "evil" not in kept


async def test_what_a_human_sets_between_two_runs_stays(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    await add("One", "write a.txt a")
    await crew.work()
    repo.git("config", "user.email", "ada@example.org")
    two = await add("Two", "write b.txt b")
    await crew.work()
    assert repo.git("config", "user.email") == "ada@example.org"
    assert await _warned(fleet, two) == []


async def test_settings_that_cannot_be_put_back_are_told(repo: SampleRepo, tmp_path: Path) -> None:
    async def nobody() -> Collection[str]:
        return ()

    settings = SharedSettings(repo.path, tmp_path / "note.json")
    await settings.begin("one.1", nobody)
    config = repo.path / ".git" / "config"
    config.unlink()
    (config / "x").mkdir(parents=True)
    with pytest.raises(WorkspaceTrouble, match="cannot be protected"):
        await settings.compare()
