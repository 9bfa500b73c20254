"""The archive: what moves, what stays, and what a kill in the middle leaves."""

import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from codefleet.domain.errors import Refused
from codefleet.domain.model import TaskId
from codefleet.domain.words import State
from codefleet.fleet import archive_files
from codefleet.ports import Write
from codefleet.wiring import open_fleet
from tests.doors.conftest import Cli
from tests.doors.test_add import added
from tests.store.samples import START, StillClock, event, task

pytestmark = pytest.mark.slow

KILLED = 9
ARCHIVE = """
import os
from codefleet.doors.cli import main
from codefleet.fleet import archive, archive_files
from codefleet.store.sqlite.store import SqliteStore
archive.PAGE = 2
seen = []
def dies_at(place, name, call):
    whole = getattr(place, name)
    def until_then(*args, **more):
        seen.append(name)
        return os._exit(9) if len(seen) == call else whole(*args, **more)
    setattr(place, name, until_then)
{death}
main(["archive", "--older-than", "0s"])
"""
DEATHS = {
    "before the file is whole": "dies_at(archive_files.NewFile, 'keep', 1)",
    "between the disk and the name": "dies_at(archive_files, '_renamed', 1)",
    "before anything leaves the store": "dies_at(SqliteStore, 'forget_events', 1)",
    "in the middle of leaving": "dies_at(SqliteStore, 'forget_events', 2)",
    "before the last name": "dies_at(archive_files, 'moved', 1)",
}


def finished(fleet: Cli, title: str) -> str:
    task = added(fleet, title)
    assert fleet("cancel", task).code == 0
    added(fleet, "The newest event of all stays")
    return task


def story(fleet: Cli, *args: str) -> list[dict[str, Any]]:
    shown = fleet("log", "--json", "--since", "0", *args)
    assert shown.code == 0
    return [json.loads(line) for line in shown.out.splitlines()]


def seqs(events: Sequence[dict[str, Any]]) -> list[int]:
    return [event["seq"] for event in events]


def test_events_of_finished_tasks_move_and_are_read_back(fleet: Cli, home: Path) -> None:
    done, waiting = finished(fleet, "Paint the shed"), added(fleet, "Mow the lawn")
    before = story(fleet)
    moved = fleet("archive", "--older-than", "0s")
    assert moved.code == 0
    assert moved.out == f"{home}/archive/events-00001.jsonl.gz\n"
    assert "2 events of 1 task moved" in moved.err
    assert done not in {event["task"] for event in story(fleet)}
    assert [event["kind"] for event in story(fleet, waiting)] == ["task.added"]
    assert [e["kind"] for e in story(fleet, "--archived", done)] == ["task.added", "task.cancelled"]
    assert story(fleet, "--archived")[:-1] == before
    assert fleet("show", done).code == 0


def test_the_log_of_an_archived_task_says_where_its_story_is(fleet: Cli) -> None:
    done, waiting = finished(fleet, "Paint the shed"), added(fleet, "Mow the lawn")
    fleet("archive", "--older-than", "0s")
    told = fleet("log", done)
    assert told.err == f"earlier events are archived: `fleet log {done} --archived` shows them\n"
    assert fleet("log", waiting).err == ""
    assert fleet("log", done, "--archived").err == ""


def test_a_reset_forgets_the_archive_too(fleet: Cli, home: Path) -> None:
    finished(fleet, "Paint the shed")
    fleet("archive", "--older-than", "0s")
    assert fleet("reset", "--yes").code == 0
    assert "Paint the shed" not in fleet("log", "--archived", "--since", "0").out
    assert list((home / "archive").iterdir()) == []


def test_the_end_of_the_whole_story_can_be_read(fleet: Cli) -> None:
    finished(fleet, "Paint the shed")
    before = fleet("log", "-n", "2").out
    fleet("archive", "--older-than", "0s")
    assert fleet("log", "--archived", "-n", "3").out.startswith(before)
    assert len(story(fleet, "--archived", "-n", "2")) == 2


def test_a_dry_run_only_tells(fleet: Cli, home: Path) -> None:
    finished(fleet, "Paint the shed")
    before = story(fleet)
    told = fleet("archive", "--older-than", "0s", "--dry-run")
    assert "2 events of 1 task would be moved" in told.err
    assert story(fleet) == before
    assert not (home / "archive").exists()


def test_what_is_young_stays(fleet: Cli, home: Path) -> None:
    finished(fleet, "Paint the shed")
    before = story(fleet)
    assert "0 events of 0 tasks moved" in fleet("archive").err
    assert story(fleet) == before
    assert list((home / "archive").iterdir()) == []


def test_every_call_writes_a_file_of_its_own_that_any_program_can_read(
    fleet: Cli, home: Path
) -> None:
    for title in ("Paint the shed", "Mow the lawn"):
        finished(fleet, title)
        fleet("archive", "--older-than", "0s")
    files = sorted((home / "archive").iterdir())
    assert [file.name for file in files] == ["events-00001.jsonl.gz", "events-00002.jsonl.gz"]
    assert {file.stat().st_mode & 0o077 for file in files} == {0}
    lines = gzip.decompress(files[1].read_bytes()).splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["task.added", "task.cancelled"]


def test_a_task_that_is_retried_keeps_its_archived_story(fleet: Cli) -> None:
    task = finished(fleet, "Paint the shed")
    fleet("archive", "--older-than", "0s")
    assert fleet("retry", task).code == 0
    kinds = [event["kind"] for event in story(fleet, "--archived", task)]
    assert kinds == ["task.added", "task.cancelled", "task.retried"]
    assert "0 events" in fleet("archive", "--older-than", "0s").err


@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS)
def test_killed_in_the_middle_it_loses_nothing_and_repeats_nothing(
    fleet: Cli, home: Path, death: str
) -> None:
    done = {finished(fleet, title) for title in ("Paint the shed", "Mow the lawn", "Feed the cat")}
    before = story(fleet)
    killed = subprocess.run([sys.executable, "-c", ARCHIVE.format(death=death)], check=False)
    assert killed.returncode == KILLED
    assert story(fleet, "--archived") == before
    assert fleet("archive", "--older-than", "0s").code == 0
    assert seqs(story(fleet, "--archived"))[: len(before)] == seqs(before)
    lines = [gzip.decompress(f.read_bytes()).splitlines() for f in (home / "archive").iterdir()]
    assert len([line for file in lines for line in file]) == 6
    assert not {event["task"] for event in story(fleet)} & done


def test_a_damaged_file_is_told_by_its_name(fleet: Cli, home: Path) -> None:
    finished(fleet, "Paint the shed")
    file = Path(fleet("archive", "--older-than", "0s").out.strip())
    file.write_bytes(file.read_bytes()[:-12])
    shown = fleet("log", "--archived")
    assert shown.code == 5
    assert f"the archive {file} is damaged" in shown.err


def test_two_do_not_archive_at_once(tmp_path: Path) -> None:
    with (
        archive_files.held(tmp_path),
        pytest.raises(Refused, match="another"),
        archive_files.held(tmp_path),
    ):
        pass


def test_a_span_that_is_none_is_refused(fleet: Cli) -> None:
    refused = fleet("archive", "--older-than", "a while")
    assert refused.code == 2
    assert "use 90m, 12h, 30d or 8w" in refused.err


async def test_a_story_stays_whole_until_its_task_has_long_been_finished(home: Path) -> None:
    clock = StillClock()
    clock.advance(days=40)
    lately = task("lately", state=State.COMPLETED, updated_at=START + timedelta(days=39))
    long_ago = task("longago", state=State.COMPLETED)
    told = [event(task=each.id) for each in (lately, long_ago)]
    async with open_fleet(home, create=True, clock=clock) as fleet:
        await fleet.core.store.write(
            Write(tasks=[lately, long_ago], events=[*told, event("later")])
        )
        assert (await fleet.archive(older_than=timedelta(days=30))).events == 1
        assert [each.task for each in await fleet.events()] == ["lately", None, None]


async def test_what_was_spent_is_not_even_written_to_the_archive(home: Path) -> None:
    done = task("a", state=State.COMPLETED)
    used = event("run.used", task=done.id, data={"cost_usd": 0.5})
    clock = StillClock()
    clock.advance(days=1)
    async with open_fleet(home, create=True, clock=clock) as fleet:
        await fleet.core.store.write(Write(tasks=[done], events=[used, event("later")]))
        moved = await fleet.archive(older_than=timedelta())
        assert (moved.events, list(moved.files)) == (0, [])
        assert (await fleet.cost(by=[], since=START))[0].usage.cost_usd == 0.5


def test_what_stands_in_two_files_is_read_once(tmp_path: Path) -> None:
    said = [event(seq=seq, task=TaskId("a")) for seq in (1, 2, 3)]
    for some in (said, said[1:]):
        file = archive_files.NewFile(tmp_path)
        file.add(some)
        archive_files.moved(file.keep())
    files = sorted(tmp_path.iterdir())
    assert list(archive_files.events(files)) == said
    assert list(archive_files.events(files, after=1)) == said[1:]


def test_an_age_before_all_calendars_is_no_age(fleet: Cli) -> None:
    told = fleet("archive", "--older-than", "9999999w")
    assert (told.code, told.err.splitlines()[0]) == (2, "error: '9999999w' is not a duration")
