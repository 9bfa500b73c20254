"""Folders reached through a link, as /tmp is on a Mac: the fleet works there as anywhere else."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.process.leftovers import living_in
from tests.gitrepo import SampleRepo, make_repo
from tests.stories.conftest import Crew

Add = Callable[..., Awaitable[Task]]
LEAVE_ONE = """shell <<END
setsid sleep 600 > /dev/null 2>&1 &
END"""


@pytest.fixture
def link(tmp_path: Path) -> Path:
    (tmp_path / "private").mkdir()
    (tmp_path / "link").symlink_to("private")
    return tmp_path / "link"


@pytest.fixture
def home(link: Path) -> Path:
    return link / "home"


@pytest.fixture
def repo(link: Path) -> SampleRepo:
    return make_repo(link / "shop", {"README.md": "A shop.\n"})


async def test_work_behind_a_link_lands_and_leaves_nothing_running(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    tasks = [
        await add(
            f"Task {number}", LEAVE_ONE, f"write {number}.txt x", checks=["test -e README.md"]
        )
        for number in range(2)
    ]
    await crew.work()
    for number, task in enumerate(tasks):
        assert (await fleet.get(task.id)).state is State.COMPLETED
        assert repo.read("main", f"{number}.txt") == "x\n"
    slots = [path for path in (fleet.home / "worktrees" / "shop").iterdir() if path.is_dir()]
    assert len(slots) == 2
    assert [*filter(living_in, slots)] == []
    assert repo.git("status", "--porcelain") == ""
