"""A git that dies in the middle of a merge: the next run redoes it, or continues it."""

from collections.abc import Awaitable, Callable

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew
from tests.trap import Trap

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]
DEATHS = {
    "in the files": "printf bl > a.txt",
    "after its commit": (
        '"$GIT" "$@"; own rev-parse HEAD^2 > "$(own rev-parse --git-path MERGE_HEAD)"'
    ),
}


@pytest.mark.parametrize("left", DEATHS.values(), ids=DEATHS.keys())
async def test_a_merge_that_was_killed_keeps_no_later_run_from_starting(
    fleet: Fleet,
    repo: SampleRepo,
    crew: Crew,
    add: Add,
    trap: Trap,
    left: str,
) -> None:
    first = await add("Paint", "write a.txt blue")
    await crew.work(agents=1, landing="branch")
    then = await add("Paint again", "append a.txt green", needs=[first.id])
    trap.plan(f'case "$*" in *"merge --no-edit"*) once && {{ {left}; kill -9 $$; }} ;; esac')
    await crew.work(agents=1, landing="branch")
    assert trap.sprung
    done = await fleet.get(then.id)
    assert done.state is State.COMPLETED
    assert repo.read(str(done.branch), "a.txt") == "blue\ngreen\n"
