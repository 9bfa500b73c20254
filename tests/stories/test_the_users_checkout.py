"""The trunk is checked out in the user's own working tree: it moves along, or it is left alone."""

import asyncio
from collections.abc import Awaitable, Callable

from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

Add = Callable[..., Awaitable[Task]]


async def test_a_clean_checkout_moves_forward_with_its_files(
    repo: SampleRepo, crew: Crew, add: Add
) -> None:
    repo.write("notes.txt", "mine, not under git\n")
    await add("Work", "write new.txt new", "edit src/till.py 0 1")
    await crew.work()
    assert (repo.path / "new.txt").read_text() == "new\n"
    assert (repo.path / "src/till.py").read_text() == "TOTAL = 1\n"
    assert (repo.path / "notes.txt").read_text() == "mine, not under git\n"
    assert repo.git("status", "--porcelain") == "?? notes.txt"


async def test_local_edits_make_the_lane_wait_untouched_until_they_are_gone(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    edited = repo.write("README.md", "half a thought\n")
    before = (edited.stat().st_mtime_ns, repo.git("rev-parse", "main"))
    task = await add("Work", "write new.txt new")
    loop = crew.loop()
    running = asyncio.create_task(loop.run())

    async def says_why() -> bool:
        return "has local edits: README.md" in (await fleet.get(task.id)).note

    await crew.wait_for(says_why)
    assert (await fleet.get(task.id)).state is State.REVIEW
    assert (edited.stat().st_mtime_ns, repo.git("rev-parse", "main")) == before
    assert edited.read_text() == "half a thought\n"
    assert not (repo.path / "new.txt").exists()
    repo.git("checkout", "--", "README.md")

    async def done() -> bool:
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.wait_for(done)
    loop.stop()
    await running
    assert (repo.path / "new.txt").read_text() == "new\n"
    said = [event.kind for event in await fleet.events(task=task.id)]
    assert said.count("task.waits") == 1


async def test_an_agent_that_strays_into_the_main_checkout_is_reported(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Stray", f"write {repo.path}/README.md astray", "write new.txt new")
    await crew.work()
    warned = [
        event.text for event in await fleet.events(task=task.id) if event.kind == "run.warned"
    ]
    assert warned == ["the main checkout changed, by the agent or by a human: README.md"]


async def test_a_commit_on_the_trunk_that_no_lane_made_is_reported(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    strayed = f"cd {repo.path} && git commit -q --allow-empty -m stray"
    task = await add("Stray", f"shell {strayed}", "write new.txt new")
    await crew.work()
    warned = [e.text for e in await fleet.events(task=task.id) if e.kind == "run.warned"]
    assert len(warned) == 1
    assert "by the agent or by a human: commit " in warned[0]


async def test_a_runner_that_joins_is_told_once(fleet: Fleet, crew: Crew) -> None:
    await crew.work()
    kinds = [event.kind for event in await fleet.events()]
    assert kinds.count("runner.started") == 1
