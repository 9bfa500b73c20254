"""However a run ends, its commits and uncommitted edits stay reachable from a ref."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Draft, Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.context import Context
from codefleet.runner.gc.collector import collect, reset
from codefleet.runner.repos import register, share
from codefleet.wiring import open_fleet
from tests.gitrepo import SampleRepo, make_repo
from tests.script import script
from tests.stories.conftest import FLAGS, Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]

WORK = ("write kept.txt committed", "commit Keep this", "write loose.txt uncommitted")


def assert_kept(repo: SampleRepo) -> None:
    assert "committed\n" in repo.saved("kept.txt")
    assert "uncommitted\n" in repo.saved("loose.txt")


@pytest.mark.parametrize(
    ("ending", "fields"),
    [
        pytest.param((), {}, id="success"),
        pytest.param((), {"checks": ["false"]}, id="failed checks"),
        pytest.param(("crash",), {}, id="crash"),
        pytest.param(("crash SIGKILL",), {}, id="killed"),
        pytest.param(("hang",), {"timeout_s": 0.5}, id="time-out"),
        pytest.param(("ignore SIGTERM", "hang"), {"timeout_s": 0.5}, id="time-out, deaf"),
        pytest.param(("broke unknown I give up",), {}, id="gave up"),
        pytest.param(("usage cost=9", "hang"), {"budget": {"usd": 1}}, id="budget"),
        pytest.param(("ask What now?",), {}, id="question"),
        pytest.param(("orphan",), {}, id="orphan left"),
    ],
)
async def test_a_run_that_ends_keeps_its_work(
    repo: SampleRepo, crew: Crew, add: Add, ending: tuple[str, ...], fields: dict[str, object]
) -> None:
    await add("Work", *WORK, *ending, max_attempts=1, **fields)
    await crew.work(grace_s=0.3)
    assert_kept(repo)


async def test_a_worktree_cut_off_from_git_is_saved_and_no_repository_around_it_is_touched(
    tmp_path: Path, repo: SampleRepo
) -> None:
    outer = make_repo(tmp_path / "outer", {"mine.txt": "mine\n"})
    outer.write("mine.txt", "edited\n")
    before = outer.sha("main")
    async with open_fleet(outer.path / ".fleet", create=True, flags=FLAGS) as fleet:
        await register(fleet, repo.path)
        draft = Draft(title="Work", prompt=script(*WORK, "note a trap", "shell rm .git"))
        [task] = await fleet.add([draft])
        await Crew(fleet).work()
        assert (await fleet.get(task.id)).state is State.COMPLETED
        assert (fleet.home / "runs" / f"{task.id}.1" / "KNOWLEDGE.md").read_text() == "a trap\n"
    assert outer.sha("main") == before
    assert outer.git("diff", "--name-only") == "mine.txt"
    assert repo.read("main", "loose.txt") == "uncommitted\n"


async def test_an_agent_that_checks_out_the_branch_of_another_task_leaves_it_as_it_was(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    looked_at = await add("Other", "write other.txt x")
    await crew.work(landing="review")
    branch = (await fleet.get(looked_at.id)).branch
    before = repo.sha(str(branch))
    task = await add("Work", f"shell git checkout -q {branch}", "write mine.txt mine")
    await crew.work(landing="review")
    assert repo.sha(str(branch)) == before
    done = await fleet.get(task.id)
    assert done.state is State.REVIEW
    assert repo.read(str(done.branch), "mine.txt") == "mine\n"


async def begun(fleet: Fleet, crew: Crew, task: Task) -> None:
    """Wait until the agent has written everything it will write."""

    async def all_written() -> bool:
        runs = await fleet.runs_of(task.id)
        return bool(runs and runs[-1].worktree) and _has(Path(str(runs[-1].worktree)))

    await crew.wait_for(all_written)


def _has(worktree: Path) -> bool:
    loose = worktree / "loose.txt"
    return loose.exists() and loose.read_text() == "uncommitted\n"


async def test_a_cancelled_task_keeps_its_work_in_the_archive(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Work", *WORK, "hang")
    loop = crew.loop()
    running = asyncio.create_task(loop.run())
    await begun(fleet, crew, task)
    await fleet.cancel(task.id)

    async def is_over() -> bool:
        return not any(run.is_live for run in await fleet.runs_of(task.id))

    await crew.wait_for(is_over)
    loop.stop()
    await running
    assert "refs/fleet/archive/" in repo.git("for-each-ref", "--format=%(refname)")
    assert_kept(repo)


async def test_a_cancelled_and_retried_task_goes_on_from_its_work(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    gate = fleet.home / "gate"
    task = await add("Work", *WORK, f"wait until {gate}")
    loop = crew.loop()
    running = asyncio.create_task(loop.run())
    await begun(fleet, crew, task)
    await fleet.cancel(task.id)
    await fleet.retry(task.id)
    gate.touch()

    async def done() -> bool:
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.wait_for(done)
    loop.stop()
    await running
    assert repo.read("main", "loose.txt") == "uncommitted\n"
    assert_kept(repo)


@pytest.mark.parametrize("firm", [False, True])
async def test_a_stopped_runner_keeps_the_work_and_gives_the_task_back(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, firm: bool
) -> None:
    task = await add("Work", *WORK, "hang")
    loop = crew.loop()
    running = asyncio.create_task(loop.run())
    await begun(fleet, crew, task)
    loop.stop(firm=firm)
    await running
    back = await fleet.get(task.id)
    assert (back.state, back.attempts) == (State.PENDING, 0)
    assert_kept(repo)


async def test_work_that_conflicts_with_the_trunk_is_kept(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    gate = fleet.home / "gate"
    task = await add("Work", *WORK, "write README.md ours", f"wait until {gate}", max_attempts=1)
    loop = crew.loop()
    running = asyncio.create_task(loop.run())
    await begun(fleet, crew, task)
    repo.write("README.md", "theirs\n")
    repo.commit("Be faster")
    gate.touch()

    async def failed() -> bool:
        return (await fleet.get(task.id)).state is State.FAILED

    await crew.wait_for(failed)
    loop.stop()
    await running
    assert_kept(repo)
    assert "ours\n" in repo.saved("README.md")


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled", "asking"])
async def test_collecting_garbage_loses_nothing(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, end: str
) -> None:
    steps = {"failed": ("crash",), "asking": ("ask What?",)}.get(end, ())
    task = await add("Work", *WORK, *steps, max_attempts=1)
    landing = "review" if end == "cancelled" else "queue"
    await crew.work(landing=landing)
    if end == "cancelled":
        await fleet.cancel(task.id)
    told = [line async for line in collect(Context(fleet))]
    assert any(line.text.startswith("worktree") for line in told) is (end != "asking")
    assert_kept(repo)


async def test_a_worktree_with_unsaved_edits_of_a_forgotten_task_is_saved_before_it_goes(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    await add("Work", *WORK)
    await crew.work()
    (slot,) = (path for path in (fleet.home / "worktrees" / "shop").iterdir() if path.is_dir())
    (slot / "late.txt").write_text("by hand\n")
    assert [line async for line in collect(Context(fleet))]
    assert not slot.exists()
    assert "by hand\n" in repo.saved("late.txt")


async def test_a_reset_forgets_the_tasks_and_keeps_their_work(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    await add("Work", *WORK, "ask What now?")
    await crew.work()
    told = [line async for line in reset(Context(fleet))]
    assert any("archived" in line.text for line in told)
    assert await fleet.core.store.counts() == {}
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/heads/fleet/") == ""
    assert_kept(repo)


async def test_a_reset_leaves_branches_of_others_alone(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, tmp_path: Path
) -> None:
    repo.git("branch", "fleet/mine")
    async with open_fleet(tmp_path / "other home", create=True, flags=FLAGS) as other:
        await register(other, repo.path)
        (theirs,) = await other.add([Draft(title="Theirs", prompt=script(*WORK, "ask What?"))])
        await Crew(other).work()
        await add("Ours", *WORK, "ask What now?")
        await crew.work()
        told = [line.text async for line in reset(Context(fleet))]
        assert len(told) == 1
        branches = repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads/fleet/")
        assert set(branches.split()) == {"fleet/mine", (await other.get(theirs.id)).branch}


async def test_a_branch_of_the_user_does_not_travel_with_those_of_the_fleet(
    fleet: Fleet, repo: SampleRepo, crew: Crew, tmp_path: Path
) -> None:
    remote = tmp_path / "remote.git"
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(remote))
    repo.git("remote", "add", "origin", str(remote))
    repo.git("checkout", "--quiet", "-b", "fleet/mine")
    repo.commit("My own")
    repo.git("checkout", "--quiet", "main")
    await share(Context(fleet), "shop")
    await crew.work()
    assert repo.git("for-each-ref", "--format=%(refname)", at=remote) == "refs/heads/main"
    archived = repo.git("for-each-ref", "--format=%(refname)", "refs/fleet/archive/")
    assert archived == ""
