"""An agent that kills its keeper and hides what it started leaves nothing behind."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.process.identity import Process
from codefleet.runner.process.leftovers import living_in
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

Add = Callable[..., Awaitable[Task]]

ORPHAN = "echo $$ > {pid}; while :; do date > stray.txt; sleep 0.01; done"
ESCAPE = """shell <<END
(env -i PATH=$PATH setsid sh -c '{orphan}' &)
until [ -s {pid} ]; do sleep 0.01; done
kill -9 $(cut -d" " -f4 /proc/$PPID/stat)
END"""


@pytest.mark.linux
async def test_a_hidden_process_of_one_task_writes_nothing_into_the_folder_of_the_next(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    escape = ESCAPE.format(orphan=ORPHAN.format(pid=pid), pid=pid)
    one = await add("One", escape, "on attempt 2", "write one.txt one")
    two = await add("Two", "write two.txt two", "wait 0.2", needs=[one.id])
    await crew.work(agents=1)
    for task in (one, two):
        assert (await fleet.get(task.id)).state is State.COMPLETED
    assert Process.find(int(pid.read_text())) is None
    for folder in (fleet.home / "worktrees" / "shop").iterdir():
        assert living_in(folder) == []
    landed = str((await fleet.get(two.id)).landed)
    assert repo.git("diff", "--name-only", f"{landed}^", landed) == "two.txt"
