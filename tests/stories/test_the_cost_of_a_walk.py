"""What a task costs besides its agent, counted rather than timed."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from tests.stories.conftest import Crew
from tests.trap import Trap

Add = Callable[..., Awaitable[Task]]
MOST_GITS = 20
READER = "cat-file --batch-command"
COUNT = 'echo "$*" >> "$home/asked"'


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trap:
    trap = Trap(tmp_path / "trap")
    monkeypatch.setenv("PATH", str(trap.folder), prepend=":")
    return trap


async def test_a_small_task_in_a_warm_pool_starts_at_most_twenty_gits_from_claim_to_trunk(
    fleet: Fleet, crew: Crew, add: Add, trap: Trap
) -> None:
    await add("Warm up", "write first.txt 1")
    await crew.work(agents=1)
    task = await add("Measure", "write second.txt 2")
    trap.plan(COUNT)
    await crew.work(agents=1)
    asked = (trap.home / "asked").read_text().splitlines()
    started = [words for words in asked if READER not in words]
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert len(started) <= MOST_GITS, "\n".join(started)
    assert len(asked) == len(started) + 1  # one reader answers all questions
