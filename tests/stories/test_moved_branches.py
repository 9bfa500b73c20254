"""Others move or delete a task's branch: its work stays, and only what was reviewed lands."""

from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

import pytest

from codefleet.api.verbs import land
from codefleet.domain.errors import Invalid, Outdated, Refused
from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.context import Context
from codefleet.runner.git.new_branch import branch_name
from codefleet.runner.landing.approval import approve
from codefleet.runner.run.workspace import Workspace
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]


def moved_to(repo: SampleRepo, branch: str, start: str, path: str) -> str:
    """Move a branch to a new commit on top of `start`, with `update-ref`, as any agent could."""
    repo.git("worktree", "add", "--quiet", "--detach", "../elsewhere", start)
    at = repo.path.parent / "elsewhere"
    repo.write(path, "not seen\n", at=at)
    commit = repo.commit(f"slip in {path}", at=at)
    repo.git("worktree", "remove", "--force", str(at))
    repo.git("update-ref", f"refs/heads/{branch}", commit)
    return commit


async def nobody() -> Collection[Path]:
    return ()


async def reviewed(fleet: Fleet, crew: Crew, add: Add) -> tuple[Task, str]:
    """A task whose work waits for a review, and the commit that its run delivered."""
    task = await add("Work", "write new.txt new")
    await crew.work(landing="review")
    [run] = await fleet.runs_of(task.id)
    assert run.evidence
    return await fleet.get(task.id), run.evidence.tip


async def warnings(fleet: Fleet, task: Task) -> str:
    return "\n".join(event.text for event in await fleet.events(task=task.id, kinds=["run.warned"]))


async def test_work_that_grew_after_it_was_approved_goes_back_to_review(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task, tip = await reviewed(fleet, crew, add)
    await fleet.land(task.id)
    more = moved_to(repo, str(task.branch), tip, "slipped.txt")
    await crew.work(landing="review")
    held = await fleet.get(task.id)
    assert (held.state, held.approved) == (State.REVIEW, False)
    assert all(word in held.note for word in ("slip in", "slipped.txt", tip[:10], more[:10]))
    [item] = await fleet.inbox()
    assert "slipped.txt" in item.text
    assert "slipped.txt" not in repo.git("ls-tree", "--name-only", "main")


async def test_work_that_moved_before_it_was_approved_is_shown_first_and_lands_by_its_commit(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task, tip = await reviewed(fleet, crew, add)
    more = moved_to(repo, str(task.branch), tip, "mine.txt")
    with pytest.raises(Refused, match=r"mine\.txt") as refused:
        await approve(Context(fleet), task.id)
    assert f"--commit {more[:10]}" in refused.value.hint
    await approve(Context(fleet), task.id, more[:10])
    await crew.work(landing="review")
    assert repo.read("main", "mine.txt") == "not seen\n"
    assert repo.read("main", "new.txt") == "new\n"


async def test_what_was_added_since_the_run_can_be_left_out(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task, tip = await reviewed(fleet, crew, add)
    more = moved_to(repo, str(task.branch), tip, "slipped.txt")
    await approve(Context(fleet), task.id, tip)
    await crew.work(landing="review")
    assert repo.git("ls-tree", "--name-only", "main").split() == ["README.md", "new.txt", "src"]
    assert repo.reachable(more)


@pytest.mark.parametrize("how", ["deleted", "reset", "moved"])
async def test_the_lane_restores_a_branch_that_somebody_took_away_and_lands_what_was_checked(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, how: str
) -> None:
    task, tip = await reviewed(fleet, crew, add)
    await fleet.land(task.id)
    ref, other = f"refs/heads/{task.branch}", ""
    if how == "deleted":
        repo.git("update-ref", "-d", ref)
    elif how == "reset":
        repo.git("update-ref", ref, "main")
    else:
        other = moved_to(repo, str(task.branch), "main", "slipped.txt")
    assert repo.reachable(tip), "a ref of the fleet's own keeps the work"
    await crew.work(landing="review")
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.git("ls-tree", "--name-only", "main").split() == ["README.md", "new.txt", "src"]
    assert "restored" in await warnings(fleet, task)
    assert not other or repo.reachable(other)
    assert not repo.git("for-each-ref", "refs/fleet/runs"), "nothing is left of it in the end"


async def test_work_on_no_ref_at_all_is_found_by_the_commit_in_the_store(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task, _ = await reviewed(fleet, crew, add)
    await fleet.land(task.id)
    for ref in repo.git("for-each-ref", "--format=%(refname)", "refs/fleet").split():
        repo.git("update-ref", "-d", ref)
    repo.git("update-ref", "-d", f"refs/heads/{task.branch}")
    await crew.work(landing="review")
    assert repo.read("main", "new.txt") == "new\n"


async def test_work_that_is_nowhere_any_more_waits_and_says_so(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task, tip = await reviewed(fleet, crew, add)
    await fleet.land(task.id)
    for ref in repo.git("for-each-ref", "--format=%(refname)", "refs/fleet", "refs/heads").split():
        if ref != "refs/heads/main":
            repo.git("update-ref", "-d", ref)
    repo.git("worktree", "prune")
    for slot in (fleet.home / "worktrees").glob("*/*"):
        repo.git("worktree", "remove", "--force", str(slot))
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--quiet", "--prune=now")
    await crew.work(landing="review")
    assert tip[:10] in (await fleet.get(task.id)).note


async def test_a_rejected_task_goes_on_from_its_work_although_its_branch_was_deleted(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Draft", "write one.txt 1", "on attempt 2", "write two.txt 2")
    await crew.work(landing="review")
    branch = (await fleet.get(task.id)).branch
    await fleet.reject(task.id, "and a second")
    repo.git("update-ref", "-d", f"refs/heads/{branch}")
    await crew.work(landing="queue")
    assert repo.read("main", "one.txt") == "1\n"
    assert repo.read("main", "two.txt") == "2\n"
    assert "restored" in await warnings(fleet, task)


@pytest.mark.parametrize("how", ["-d", "main"])
async def test_an_agent_at_work_keeps_its_commits_when_another_takes_its_branch(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, how: str
) -> None:
    made, gate = fleet.home / "made", fleet.home / "gate"
    who = "git -c user.name=A -c user.email=a@example.org"
    victim = await add(
        "Victim",
        "write one.txt 1",
        f"shell git add -A && {who} commit --quiet -m one && touch {made}",
        f"wait until {gate}",
        "write two.txt 2",
        f"shell git add -A && {who} commit --quiet -m two",
    )
    ref = f"refs/heads/fleet/{victim.id}-victim"
    taken = f"git update-ref -d {ref}" if how == "-d" else f"git update-ref {ref} main"
    await add("Attacker", f"wait until {made}", f"shell {taken} && touch {gate}")
    await crew.work()
    assert (await fleet.get(victim.id)).state is State.COMPLETED
    assert repo.read("main", "one.txt") == "1\n"
    assert repo.read("main", "two.txt") == "2\n"


async def test_a_review_whose_branch_is_deleted_has_it_back_without_being_asked(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task, tip = await reviewed(fleet, crew, add)
    repo.git("update-ref", "-d", f"refs/heads/{task.branch}")
    loop = crew.loop(landing="review", radar_s=0.1)

    async def is_back() -> bool:
        return repo.git("for-each-ref", f"refs/heads/{task.branch}") != ""

    await crew.until(loop, is_back)
    assert repo.sha(str(task.branch)) == tip
    assert "restored" in await warnings(fleet, task)


async def test_an_agent_may_rewrite_its_own_branch(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    who = "git -c user.name=A -c user.email=a@example.org"
    task = await add(
        "Work",
        "write one.txt 1",
        f"shell git add -A && {who} commit --quiet -m one",
        "write one.txt better",
        f"shell git add -A && {who} commit --quiet --amend -m better",
    )
    loop = crew.loop(radar_s=0.1)

    async def done() -> bool:
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.until(loop, done)
    assert repo.read("main", "one.txt") == "better\n"
    assert "restored" not in await warnings(fleet, task)


@pytest.mark.parametrize("how", ["branch", "worktree"])
async def test_what_is_on_a_branch_before_its_task_begins_is_no_part_of_the_tasks_work(
    fleet: Fleet, home: Path, repo: SampleRepo, crew: Crew, add: Add, how: str
) -> None:
    task = await add("Work", "write new.txt new")
    branch = branch_name(task.id, task.title)
    slipped = moved_to(repo, branch, "main", "slipped.txt")
    if how == "worktree":
        repo.git("worktree", "add", "--quiet", str(home / "worktrees" / "shop" / "1"), branch)
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.git("ls-tree", "--name-only", "main").split() == ["README.md", "new.txt", "src"]
    assert "existed before its task started" in await warnings(fleet, task)
    assert repo.reachable(slipped)


@pytest.mark.parametrize("how", ["approve its commit", "lane"])
async def test_a_worktree_that_a_killed_runner_left_on_a_branch_keeps_no_work_from_landing(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, how: str
) -> None:
    task, tip = await reviewed(fleet, crew, add)
    pool = Workspace(Context(fleet), await fleet.repo("shop")).pool
    await pool.take(str(task.branch), tip, in_use=nobody)
    pool.locks.drop_all()  # as the kernel does when a runner is killed
    if how == "lane":
        await approve(Context(fleet), task.id)
    repo.git("update-ref", f"refs/heads/{task.branch}", "main")
    if how != "lane":
        await approve(Context(fleet), task.id, tip)
    await crew.work(landing="review")
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.read("main", "new.txt") == "new\n"
    assert repo.git("branch", "--list", "fleet/*") == ""


async def test_an_approval_of_a_task_that_has_changed_moves_no_branch(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task, tip = await reviewed(fleet, crew, add)
    seen = fleet.expecting(task.version)
    await fleet.edit(task.id, priority=5)
    with pytest.raises(Outdated):
        await land(seen, task.id, repo.sha("main"))
    assert repo.sha(str(task.branch)) == tip
    assert not (await fleet.get(task.id)).approved


@pytest.mark.parametrize("wrong", ["nosuch", "x" * 200_000, "a\0b"])
async def test_an_approval_of_what_is_no_commit_is_refused(
    fleet: Fleet, crew: Crew, add: Add, wrong: str
) -> None:
    task, _ = await reviewed(fleet, crew, add)
    with pytest.raises(Invalid, match="there is no commit") as refused:
        await approve(Context(fleet), task.id, wrong)
    assert len(refused.value.problem) < 1000
