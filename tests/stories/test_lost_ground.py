"""A repository that is missing, or lost its trunk: its tasks wait, and are not blamed."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import BOUND_S, Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]


async def _told(fleet: Fleet) -> list[str]:
    return [event.text for event in await fleet.core.store.events(kinds=["repo.away"])]


async def test_tasks_of_a_folder_that_is_gone_wait_until_it_is_back(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Work", "write new.txt new")
    away = repo.path.with_name("unplugged")
    repo.path.rename(away)
    await crew.work()
    why = f"shop is no longer at {repo.path}"
    assert await _told(fleet) == [f"{fleet.host}: {why}"]
    assert (await fleet.get(task.id)).runs == 0
    assert (await fleet.why([task]))[task.id].text == why
    away.rename(repo.path)
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED


async def test_a_trunk_that_is_gone_uses_up_no_attempt_and_is_looked_for_again(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    tasks = [await add(f"Work {number}", f"write {number}.txt new") for number in range(5)]
    repo.git("branch", "--move", "main", "trunk")
    loop = crew.loop(agents=1)
    running = asyncio.create_task(loop.run())

    async def told() -> bool:
        return await _told(fleet) == [f"{fleet.host}: shop has no branch main"]

    async def all_done() -> bool:
        return all([(await fleet.get(task.id)).state is State.COMPLETED for task in tasks])

    await crew.wait_for(told)
    assert sum([(await fleet.get(task.id)).runs for task in tasks]) == 1
    assert not any([(await fleet.get(task.id)).attempts for task in tasks])
    repo.git("branch", "--move", "trunk", "main")
    await crew.wait_for(all_done)
    loop.stop()
    await asyncio.wait_for(running, BOUND_S)


async def test_a_folder_that_goes_while_an_agent_works_uses_up_no_attempt(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    gate = fleet.home / "gate"
    task = await add("Work", "write new.txt new", f"wait until {gate}")
    loop = crew.loop(agents=1)
    running = asyncio.create_task(loop.run())

    async def has_begun() -> bool:
        return any(list(fleet.home.glob("worktrees/shop/*/new.txt")))

    async def is_back() -> bool:
        return (await fleet.get(task.id)).state is State.PENDING

    await crew.wait_for(has_begun)
    away = repo.path.with_name("unplugged")
    repo.path.rename(away)
    gate.touch()
    await crew.wait_for(is_back)
    assert (await fleet.get(task.id)).attempts == 0
    away.rename(repo.path)

    async def done() -> bool:
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.wait_for(done)
    loop.stop()
    await asyncio.wait_for(running, BOUND_S)
    assert repo.read("main", "new.txt") == "new\n"


async def test_a_landing_without_its_trunk_waits_and_says_what_is_missing(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Work", "write new.txt new")
    await crew.work(landing="review")
    repo.git("branch", "--move", "main", "trunk")
    await fleet.land(task.id)
    await crew.work(landing="review")
    assert (await fleet.get(task.id)).note.startswith(f"{repo.path} has no branch main")
    await crew.work(landing="review", trunk="trunk")
    assert repo.read("trunk", "new.txt") == "new\n"
