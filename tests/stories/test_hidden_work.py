"""Agents whose ignore list hides everything they made."""

from collections.abc import Awaitable, Callable

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]


@pytest.mark.parametrize("after", ["shell true", "shell git add -f .gitignore", "commit All"])
async def test_work_that_an_agent_hid_with_everything_else_lands(
    after: str, fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    hides = "write .gitignore *"
    task = await add("Hide", "write a.txt a", hides, "write b/c.txt c", after)
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert (repo.read("main", "a.txt"), repo.read("main", "b/c.txt")) == ("a\n", "c\n")
    assert ".gitignore" not in repo.git("ls-tree", "--name-only", "main").split()
    [warned] = [e.text for e in await fleet.events(task=task.id) if e.kind == "run.warned"]
    assert warned == "its .gitignore hid all files; that rule is removed"


async def test_an_ignore_list_that_hides_everything_is_taken_back_even_when_committed(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    who = "-c user.name=a -c user.email=a"
    commits = f"shell git add -f .gitignore && git {who} commit -qm Hide"
    task = await add("Hide", "write .gitignore *", commits, "write work.txt w")
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.read("main", "work.txt") == "w\n"
    assert ".gitignore" not in repo.git("ls-tree", "--name-only", "main").split()
