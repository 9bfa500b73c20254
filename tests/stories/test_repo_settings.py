"""A repo's own settings: read from its trunk, bounded, and affecting only that repo."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.repos import register
from tests.gitrepo import SampleRepo, make_repo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]

BAD = {
    "a link to a device": "shell ln -s /dev/zero fleet.toml",
    "without end": "shell python3 -c \"print('x = ' + '[' * 9999 + ']' * 9999)\" > fleet.toml",
    "too long": "shell yes '# a line' | head -c 2000000 > fleet.toml",
    "not text": "shell printf 'x = \\377' > fleet.toml",
    "not TOML": "shell echo 'a = = b' > fleet.toml",
    "not its choice": "shell echo 'agents = 9' > fleet.toml",
}


@pytest.fixture
async def other(fleet: Fleet, repo: SampleRepo, tmp_path: Path) -> SampleRepo:
    made = make_repo(tmp_path / "other")
    await register(fleet, made.path)
    return made


@pytest.mark.parametrize("how", BAD)
async def test_a_bad_file_that_landed_stops_its_own_repo_and_no_other(
    how: str, fleet: Fleet, repo: SampleRepo, other: SampleRepo, crew: Crew, add: Add
) -> None:
    first = await add("Break it", BAD[how], repo="shop")
    await crew.work()
    assert (await fleet.get(first.id)).state is State.COMPLETED
    waits = await add("Wait", "write a.txt a", repo="shop")
    works = await add("Work", "write a.txt a", repo="other")
    await crew.work()
    assert (await fleet.get(works.id)).state is State.COMPLETED
    assert (await fleet.get(waits.id)).state is State.PENDING
    assert await fleet.runs_of(waits.id) == []
    assert "fleet.toml" in (await fleet.why([waits]))[waits.id].text
    [item] = [each for each in await fleet.inbox() if each.kind == "settings"]
    assert (item.id, "fleet.toml" in item.text) == ("shop", True)

    repo.git("rm", "--quiet", "fleet.toml")
    repo.git("commit", "--quiet", "--message=Remove it")
    await crew.work()
    assert (await fleet.get(waits.id)).state is State.COMPLETED
    assert await fleet.inbox() == []


async def test_settings_that_turn_bad_end_the_starts_and_come_back_when_fixed(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    repo.write("fleet.toml", "nonsense = 1\n")
    repo.commit("Break the settings")
    task = await add("Wait", "write a.txt a")
    loop = crew.loop()

    async def is_done() -> bool:
        refused = [e for e in await fleet.events() if e.kind == "config.refused"]
        if refused and (repo.path / "fleet.toml").exists():
            repo.git("rm", "--quiet", "fleet.toml")
            repo.git("commit", "--quiet", "--message=Fix it")
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.until(loop, is_done)
    assert len(await fleet.runs_of(task.id)) == 1


async def test_what_is_in_the_checkout_counts_when_it_is_on_the_trunk(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    repo.write("fleet.toml", 'landing = "review"\n')
    first = await add("One", "write a.txt a")
    await crew.work()
    assert (await fleet.get(first.id)).state is State.COMPLETED
    repo.commit("Review first")
    second = await add("Two", "write b.txt b")
    await crew.work()
    assert (await fleet.get(second.id)).state is State.REVIEW


async def test_a_file_that_landed_cannot_take_the_review_away(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    (fleet.home / "fleet.toml").write_text('landing = "review"\nchecks = ["test -e README.md"]\n')
    repo.write("fleet.toml", 'landing = "queue"\nchecks = []\n')
    repo.commit("Loosen")
    task = await add("One", "write a.txt a")
    await crew.work()
    assert (await fleet.get(task.id)).state is State.REVIEW
    [run] = await fleet.runs_of(task.id)
    assert run.evidence
    assert [check.command for check in run.evidence.checks] == ["test -e README.md"]


async def test_a_list_of_files_to_copy_that_is_no_plain_file_is_not_read(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    (repo.path / ".worktreeinclude").symlink_to("/dev/zero")
    repo.commit("Copy without end")
    task = await add("One", "write a.txt a")
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
