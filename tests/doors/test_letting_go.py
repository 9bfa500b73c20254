"""What is removed and what stays: gc, reset and import at bad moments."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.doors.conftest import Cli
from tests.doors.test_add import added, shown
from tests.doors.test_run import runner_at_work, work
from tests.gitrepo import SampleRepo
from tests.script import script

HOLD = script("write new.txt hello", "say halfway", "wait until go.txt 60")


@contextmanager
def after_a_kill() -> Iterator[None]:
    """The moment after a runner was killed while its agent keeps working."""
    with runner_at_work("halfway") as runner:
        runner.send_signal(signal.SIGKILL)
        runner.wait(timeout=30)
    yield


def reviewed(fleet: Cli, title: str, file: str) -> tuple[str, str]:
    """A task whose work waits on its branch: its id and the branch."""
    fleet("config", "set", "landing", "review")
    task = added(fleet, title, "-d", script(f"write {file} hello"))
    work(fleet, code=8)
    return task, str(shown(fleet, task)["branch"])


def branches(repo: SampleRepo, where: str = "refs/heads/fleet/") -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname)", where).split()


def ended(home: Path, task: str) -> bool:
    """Did the agent of the task's first run end, and its keeper with it?"""
    return (home / "runs" / f"{task}.1" / "exit.json").exists()


def all_tasks(fleet: Cli) -> list[str]:
    return [task["id"] for task in json.loads(fleet("list", "--all", "--json").out)]


def test_gc_leaves_a_branch_that_the_user_has_checked_out_and_goes_on(
    fleet: Cli, repo: SampleRepo
) -> None:
    mine, my_branch = reviewed(fleet, "A mine", "a.txt")
    other, other_branch = reviewed(fleet, "B other", "b.txt")
    repo.git("switch", "--quiet", my_branch)
    for task in (mine, other):
        fleet("cancel", task)
    would = fleet("gc", "--dry-run")
    done = fleet("gc")
    for result in (would, done):
        assert result.code == 0
        assert f"branch {other_branch}" in result.out
        assert my_branch not in result.out
        assert f"branch {my_branch} stays: it is checked out in {repo.path}" in result.err
    assert branches(repo) == [f"refs/heads/{my_branch}"]
    assert "hello\n" in repo.saved("b.txt")


def test_gc_leaves_a_branch_that_cannot_be_archived_and_goes_on(
    fleet: Cli, repo: SampleRepo
) -> None:
    first, second = reviewed(fleet, "A first", "a.txt"), reviewed(fleet, "B second", "b.txt")
    (stuck, its_branch), (_, other_branch) = sorted((first, second))
    repo.git("update-ref", f"refs/fleet/archive/{stuck}/x", "HEAD")  # a folder where a ref must be
    for task, _ in (first, second):
        fleet("cancel", task)
    result = fleet("gc")
    assert result.code == 0
    assert f"branch {its_branch} stays: cannot keep" in result.err
    assert f"branch {other_branch}, kept as" in result.out
    assert branches(repo) == [f"refs/heads/{its_branch}"]


def test_gc_leaves_the_work_of_an_agent_that_outlived_its_runner(
    fleet: Cli, repo: SampleRepo, home: Path
) -> None:
    task = added(fleet, "Hold", "-d", HOLD)
    with after_a_kill():
        fleet("cancel", task)
        result = fleet("gc")
        assert result.code == 0
        assert "stays: it is checked out" in result.err
        assert len(branches(repo)) == 1
        assert not ended(home, task)
        assert fleet("reset", "--yes").code == 0


def test_reset_after_a_killed_runner_ends_its_agents_and_saves_their_work(
    fleet: Cli, repo: SampleRepo, home: Path
) -> None:
    task = added(fleet, "Hold", "-d", HOLD)
    with after_a_kill():
        result = fleet("reset", "--yes")
    assert result.code == 0, result.err
    assert f"ended agent-1, which was working on {task}" in result.out
    assert ended(home, task)
    assert all_tasks(fleet) == []
    assert branches(repo) == []
    assert "hello\n" in repo.saved("new.txt")


def test_reset_archives_a_branch_that_the_user_has_checked_out_and_leaves_it(
    fleet: Cli, repo: SampleRepo
) -> None:
    _, branch = reviewed(fleet, "Mine", "a.txt")
    repo.git("switch", "--quiet", branch)
    tip = repo.sha("HEAD")
    result = fleet("reset", "--yes")
    assert result.code == 0
    assert f"archived as refs/fleet/archive/{branch}, but not deleted" in result.err
    assert all_tasks(fleet) == []
    assert repo.sha(branch) == repo.sha(f"refs/fleet/archive/{branch}") == tip


def test_a_reset_that_cannot_archive_forgets_nothing(fleet: Cli, repo: SampleRepo) -> None:
    task, _ = reviewed(fleet, "Mine", "a.txt")
    repo.git("update-ref", "refs/fleet/archive/fleet", "HEAD")  # in the place of a folder
    assert fleet("reset", "--yes").code == 6
    assert all_tasks(fleet) == [task]


def test_what_ran_when_it_was_exported_is_pending_after_the_import(
    fleet: Cli, tmp_path: Path
) -> None:
    task = added(fleet, "Hold", "-d", HOLD)
    file = str(tmp_path / "fleet.jsonl")
    with runner_at_work("halfway"):
        assert fleet("export", file).code == 0
    there = ("--home", str(tmp_path / "other"))
    assert fleet(*there, "import", file).code == 0
    page = json.loads(fleet(*there, "show", task, "--json").out)
    (run,) = page["runs"]
    assert (run["outcome"], run["reason"], run["note"]) == ("failed", "crashed", "imported")
    assert (page["task"]["state"], page["task"]["attempts"]) == ("pending", 0)
    assert page["events"][-1]["kind"] == "run.failed"
    assert page["task"]["fence"] > run["fence"]
    assert [each["id"] for each in json.loads(fleet(*there, "ready", "--json").out)] == [task]
