"""The worktree of a worker: committed and pushed through the fleet's own git."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from codefleet.domain.access import AgentOf
from codefleet.domain.errors import Invalid, NotFound, Refused
from codefleet.domain.model import Run
from codefleet.fleet import Fleet
from codefleet.runner import verbs
from codefleet.runner.context import Context
from codefleet.runner.repos import register
from tests.gitrepo import SampleRepo, make_repo
from tests.script import script
from tests.stories.conftest import BOUND_S, Crew
from tests.stories.test_workers import MEMBER, two_teams

pytestmark = pytest.mark.slow


@asynccontextmanager
async def at_work(fleet: Fleet, crew: Crew) -> AsyncIterator[Run]:
    """A worker that has written a file and waits."""
    task = await fleet.spawn("scout", script("write found.txt it", "say wrote", "wait until go"))
    loop = crew.loop(1, until_idle=True)
    running = asyncio.create_task(loop.run())

    async def wrote() -> object:
        return await fleet.core.store.events(task=task.id, kinds=["run.said"])

    await crew.wait_for(wrote)
    (run,) = await fleet.runs_of(task.id)
    try:
        yield run
    finally:
        Path(str(run.worktree), "go").touch()
        await asyncio.wait_for(running, BOUND_S)


async def test_a_worktree_is_committed_while_its_agent_works_and_no_message_runs_anything(
    fleet: Fleet, crew: Crew, repo: SampleRepo, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    hook = repo.path / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
    hook.chmod(0o755)
    message = f"Found it $(touch {trap}) `touch {trap}`\n\n--amend"
    async with at_work(fleet, crew) as run:
        context = Context(fleet)
        before = await verbs.worktree_status(context, "scout")
        assert (before.branch, before.path) == (run.branch, run.worktree)
        assert (before.has_changes, before.ahead, before.behind) == (True, 0, 0)
        done = await verbs.commit_worktree(context, message, "scout")
        after = await verbs.worktree_status(context, "scout")
        assert (after.has_changes, after.ahead, after.behind) == (False, 1, 0)
        assert done.is_new
        assert done.branch == run.branch
        assert repo.git("log", "-1", "--format=%B", done.commit).strip() == message
        assert repo.read(done.commit, "found.txt") == "it\n"
        again = await verbs.commit_worktree(context, "Nothing new", "scout")
        assert (again.commit, again.is_new) == (done.commit, False)
        for bad in (" ", "x" * 1001):
            with pytest.raises(Invalid, match="1 to 1000"):
                await verbs.commit_worktree(context, bad, "scout")
        with pytest.raises(Invalid, match="whose worktree"):
            await verbs.commit_worktree(context, "Which?")
        with pytest.raises(Refused, match="has no remote"):
            await verbs.push_worktree(context, "scout")
    assert not trap.exists()
    landed = await verbs.worktree_status(context, "scout")
    assert (landed.path, landed.has_changes, landed.ahead) == (None, False, 0)
    with pytest.raises(Refused, match="is not at work"):
        await verbs.commit_worktree(context, "Late", "scout")
    assert repo.read("main", "found.txt") == "it\n"


async def test_an_agent_commits_its_own_worktree_and_may_not_push(fleet: Fleet, crew: Crew) -> None:
    async with at_work(fleet, crew) as run:
        agent = Context(fleet.acting_as(AgentOf(run=run.id)))
        assert (await verbs.commit_worktree(agent, "Mine")).is_new
        assert (await verbs.worktree_status(agent)).ahead == 1
        with pytest.raises(Refused, match="only its own worktree"):
            await verbs.worktree_status(agent, "other")
        with pytest.raises(Refused, match="only its own worktree"):
            await verbs.commit_worktree(agent, "Theirs", "other")
        with pytest.raises(Refused, match="may not push a branch"):
            await verbs.push_worktree(agent)


async def test_a_branch_is_pushed_to_the_remote(
    fleet: Fleet, crew: Crew, tmp_path: Path, repo: SampleRepo
) -> None:
    bare = tmp_path / "bare.git"
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(bare))
    other = make_repo(tmp_path / "web", {"README.md": "x\n"})
    other.git("fetch", "--quiet", str(bare), "main")
    other.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    other.git("remote", "add", "origin", str(bare))
    await register(fleet, other.path)
    steps = script("write found.txt it", "commit Found it")
    task = await fleet.spawn("scout", steps, repo="web", lands="branch")
    await crew.work()
    done = await verbs.push_worktree(Context(fleet), "scout")
    assert done.branch == (await fleet.get(task.id)).branch
    assert SampleRepo(bare).git("rev-parse", f"refs/heads/{done.branch}") == done.commit
    lead, _ = await two_teams(fleet)
    for member, words in ((fleet.acting_as(MEMBER), "may not push"), (lead, "no worker scout")):
        with pytest.raises(Exception, match=words):
            await verbs.push_worktree(Context(member), "scout")
    with pytest.raises(NotFound, match="no worker scout"):
        await verbs.worktree_status(Context(lead), "scout")
