"""Agents that delete `.git`, start their own repository, or remove their folder."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import Reason, State
from codefleet.fleet import Fleet
from codefleet.runner.git.layout import git_dir
from codefleet.runner.run.listener import Listener
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]

CUT = "the agent cut its folder off from git; it has been reconnected"
WHO = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a;"
CUT_OFF = {
    "no link": "rm .git",
    "a link to nowhere": "echo gitdir: /nowhere > .git",
    "a link that is one": "mv .git ../link && ln -s ../link .git",
    "no notes of git": 'rm -r "$(git rev-parse --git-dir)"',
    "no notes on any worktree": 'rm -r "$(git rev-parse --git-common-dir)/worktrees"',
    "no index": 'echo broken > "$(git rev-parse --git-dir)/index"',
}


@pytest.mark.parametrize("how", CUT_OFF)
async def test_work_in_a_worktree_that_was_cut_off_from_git_lands(
    how: str, fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Cut", "write a.txt a", "commit One", "write b.txt b", f"shell {CUT_OFF[how]}")
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert (repo.read("main", "a.txt"), repo.read("main", "b.txt")) == ("a\n", "b\n")
    assert repo.read("main", "README.md")
    warned = [e.text for e in await fleet.events(task=task.id) if e.kind == "run.warned"]
    assert warned == ([] if how == "no index" else [CUT])
    await add("Next", "write c.txt c")
    await crew.work()
    assert (repo.path / "c.txt").exists()
    assert repo.git("status", "--porcelain") == ""


async def test_a_repository_that_an_agent_began_in_its_worktree_is_kept_and_its_files_land(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    begun = "rm .git && git init -q . && git add . && git commit -qm Own"
    task = await add("Begin anew", "write a.txt a", f"shell {WHO} {begun}", "write b.txt b")
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert (repo.read("main", "a.txt"), repo.read("main", "b.txt")) == ("a\n", "b\n")
    own = f"refs/fleet/archive/{task.id}-begin-anew-own"
    assert repo.git("log", "--format=%s", own) == "Own"
    [warned] = [e.text for e in await fleet.events(task=task.id) if e.kind == "run.warned"]
    assert "the agent created its own repository" in warned
    assert own in warned


async def test_a_cancelled_agent_that_was_cut_off_from_git_keeps_its_work(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Cut", "write a.txt kept", "shell rm .git", "say cut", "hang")
    loop = crew.loop()

    async def cut_and_cancelled() -> bool:
        cut = any(e.kind == "run.said" for e in await fleet.events(task=task.id))
        if cut and (await fleet.get(task.id)).state is State.RUNNING:
            await fleet.cancel(task.id)
        return bool(cut and (await fleet.runs_of(task.id))[-1].ended_at)

    await crew.until(loop, cut_and_cancelled)
    assert repo.saved("a.txt") == {"kept\n"}


async def test_an_agent_that_removes_its_folder_is_told_and_keeps_its_commits(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    steps = ("write a.txt kept", "commit One", 'shell rm -r "$PWD"')
    task = await add("Gone", *steps, max_attempts=1)
    await crew.work()
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.WORKSPACE)
    assert "is gone, with everything that was not committed" in failed.note
    assert repo.read(str(failed.branch), "a.txt") == "kept\n"


async def test_a_run_that_goes_wrong_with_us_is_saved_although_it_was_cut_off(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def explode(listener: Listener) -> None:
        notes = git_dir(Path(str(listener.lease.run.worktree)))
        while notes.exists():
            await asyncio.sleep(0.01)
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(Listener, "listen", explode)
    cut = ("write a.txt kept", 'shell rm -r "$(git rev-parse --git-dir)"')
    task = await add("Cut", *cut, max_attempts=1)
    await crew.work()
    assert (await fleet.get(task.id)).reason is Reason.UNKNOWN
    assert repo.saved("a.txt") == {"kept\n"}


async def test_a_folder_that_an_agent_put_a_link_to_in_place_of_its_own_is_left_alone(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, tmp_path: Path
) -> None:
    there = tmp_path / "documents"
    there.mkdir()
    (there / "letter.txt").write_text("dear")
    link = f'cd / && rm -r "$OLDPWD" && ln -s {there} "$OLDPWD"'
    steps = ("write a.txt kept", "commit One", f"shell {link}")
    task = await add("Link", *steps, max_attempts=2, checks=["touch made-by-a-check"])
    await crew.work()
    assert [file.name for file in there.iterdir()] == ["letter.txt"]
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.WORKSPACE)
    assert repo.read(str(failed.branch), "a.txt") == "kept\n"
    assert repo.saved("letter.txt") == set()
    await add("Next", "write b.txt b")
    await crew.work()
    assert (repo.path / "b.txt").exists()
