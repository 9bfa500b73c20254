"""A full disk: tasks wait for space, and none of them fails because of it."""

from collections.abc import Awaitable, Callable

from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew
from tests.trap import Trap

Add = Callable[..., Awaitable[Task]]
FULL = 'case "$*" in *"worktree add"*) echo "fatal: No space left on device" >&2; exit 128;; esac'


async def test_a_worktree_that_does_not_fit_on_the_disk_uses_up_no_attempt(
    fleet: Fleet,
    repo: SampleRepo,
    crew: Crew,
    add: Add,
    trap: Trap,
) -> None:
    trap.plan(FULL)
    task = await add("Work", "write new.txt new", max_attempts=1)

    async def has_run() -> bool:
        return any(run.ended_at for run in await fleet.runs_of(task.id))

    await crew.until(crew.loop(agents=1), has_run)
    waits = await fleet.get(task.id)
    assert (waits.state, waits.attempts) == (State.PENDING, 0)
    assert waits.not_before
    assert "No space left on device" in waits.note
