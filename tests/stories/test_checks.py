"""Checks prove the work and add nothing to it, whatever they do where they run."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import Reason, State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]

WRITES = "echo new > report.txt"
EDITS = "echo more >> README.md; echo new > report.txt"
STAGES = "echo more >> README.md; git add -A"
COMMITS = "echo new > report.txt; git add -A; git commit -qm unasked"
LEAVES = "git switch -qc elsewhere; echo new > report.txt"
RESETS = "git reset -q --hard HEAD~1"
DETACHES = "git checkout -q HEAD~1"
MERGES = "git switch -qc side HEAD~1; echo b > a.txt; git add -A; git commit -qm b; git merge -q -"
LOCKS = "mkdir closed; echo x > closed/file; chmod 0 closed"


async def warnings(fleet: Fleet, task: Task) -> list[str]:
    return [each.text for each in await fleet.events(task=task.id) if each.kind == "run.warned"]


@pytest.mark.parametrize(
    "does", [WRITES, EDITS, STAGES, COMMITS, LEAVES, RESETS, DETACHES, MERGES, LOCKS]
)
async def test_what_a_check_does_to_its_worktree_does_not_land(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, does: str
) -> None:
    done = await add("Work", "write a.txt made", checks=[f"sh -c '{does}; true'"])
    await crew.work()
    assert (await fleet.get(done.id)).state is State.COMPLETED
    assert repo.git("ls-tree", "-r", "--name-only", "main").split() == [
        *("README.md", "a.txt", "src/till.py")
    ]
    assert repo.read("main", "a.txt") == "made\n"
    assert repo.read("main", "README.md") == "A shop.\n"


async def test_what_a_check_changed_is_told_and_kept_apart(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Work", "write a.txt made", checks=[f"sh -c '{EDITS}'"])
    await crew.work()
    kept = f"refs/fleet/archive/{task.id}.1-checks"
    [told] = await warnings(fleet, task)
    assert told == (
        "the checks changed README.md, report.txt: that is not part of the work, "
        f"and is kept as {kept}"
    )
    assert repo.read(kept, "README.md") == "A shop.\nmore\n"


async def test_a_check_that_only_writes_new_files_leaves_no_archive(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Work", "write a.txt made", checks=[f"sh -c '{WRITES}'"])
    await crew.work()
    assert await warnings(fleet, task) == [
        "the checks changed report.txt: that is not part of the work"
    ]
    assert repo.git("for-each-ref", "refs/fleet/archive") == ""


async def test_the_next_attempt_finds_nothing_of_what_a_red_check_wrote(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    check = f"sh -c '{EDITS}; test -e b.txt'"
    steps = ("write a.txt made", "on attempt 2", "write b.txt made")
    task = await add("Work", *steps, checks=[check])
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert "report.txt" not in repo.git("ls-tree", "-r", "--name-only", "main")
    first, second = await fleet.runs_of(task.id)
    assert first.reason is Reason.CHECKS_FAILED
    assert second.evidence
    assert [change.path for change in second.evidence.changes] == ["a.txt", "b.txt"]


@pytest.mark.parametrize("gone", [".git", "$PWD"])
async def test_a_check_that_deletes_its_own_ground_deletes_no_work(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, gone: str
) -> None:
    task = await add("Work", "write a.txt made", checks=[f"sh -c 'rm -rf \"{gone}\"'"])
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.read("main", "a.txt") == "made\n"
    assert not Path(fleet.home / "logs" / "crash.log").exists()
