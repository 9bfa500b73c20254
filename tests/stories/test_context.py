"""Contexts that fill up: work continues in a fresh session, as long as it makes progress."""

from collections.abc import Awaitable, Callable

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import Outcome, Reason, State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]
FULL = "context 95 100"


async def prompt_of(fleet: Fleet, task: Task, run: int) -> str:
    return (fleet.home / "runs" / f"{task.id}.{run}" / "prompt.md").read_text()


async def test_a_full_context_is_continued_by_a_fresh_session_that_gets_a_checkpoint(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    first = (
        "write a.txt a",
        "commit Add a",
        "write b.txt b",
        "say I was about to do c",
        FULL,
        "hang",
    )
    task = await add("Large", *first, "on attempt 2", "write c.txt c")
    await crew.work()
    stopped, last = await fleet.runs_of(task.id)
    assert (stopped.outcome, stopped.reason) == (Outcome.RELEASED, Reason.CONTEXT_FULL)
    assert last.session != stopped.session
    assert last.worktree == stopped.worktree
    done = await fleet.get(task.id)
    assert (done.state, done.attempts) == (State.COMPLETED, 0)
    assert [repo.read("main", f"{name}.txt") for name in "abc"] == ["a\n", "b\n", "c\n"]
    told = await prompt_of(fleet, task, 2)
    for known in ("95% full", "Add a", "added b.txt", "I was about to do c"):
        assert known in told


async def test_below_the_share_nobody_is_stopped(fleet: Fleet, crew: Crew, add: Add) -> None:
    task = await add("Small", "context 49 100", "wait 1", "write a.txt a")
    await crew.work(quiet_s=0.1, context_share=0.5)
    assert len(await fleet.runs_of(task.id)) == 1
    assert (await fleet.get(task.id)).state is State.COMPLETED


@pytest.mark.parametrize("end", [("hang",), ("broke context_full It does not fit",)])
async def test_three_fresh_starts_in_a_row_without_a_commit_fail_the_task(
    fleet: Fleet, crew: Crew, add: Add, end: tuple[str, ...]
) -> None:
    task = await add("Endless", "write a.txt a", FULL, *end, max_attempts=1)
    await crew.work(quiet_s=0.1)
    runs = await fleet.runs_of(task.id)
    assert [run.outcome for run in runs] == [*[Outcome.RELEASED] * 3, Outcome.FAILED]
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.CONTEXT_FULL)
    assert failed.note.endswith("3 fresh starts in a row made no progress")


async def test_a_trunk_that_moves_in_between_is_nothing_new(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    moves = f"shell git -C {repo.path} commit --allow-empty --message Moved"
    task = await add("Endless", "write a.txt a", moves, "broke context_full Full", max_attempts=1)
    await crew.work()
    assert len(await fleet.runs_of(task.id)) == 4


async def test_a_task_that_gets_on_is_continued_as_often_as_it_takes(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add(
        "Long",
        *("append a.txt a", FULL, "broke context_full Full"),
        *("on attempt 6", "append a.txt done"),
    )
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert len(await fleet.runs_of(task.id)) == 6


async def test_an_agent_that_is_done_at_that_moment_is_done(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Nearly", "write a.txt a", FULL)
    await crew.work(quiet_s=0.1)
    assert (await fleet.get(task.id)).state is State.COMPLETED
