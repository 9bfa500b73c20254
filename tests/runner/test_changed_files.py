"""The files that an agent reports to have changed: each once, by its place in the worktree."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from codefleet.coders.registry import coder
from codefleet.domain.signals import Changed, Said, Signal
from codefleet.runner.output.changed_files import MOST_FILES, ChangedFiles
from tests.coders.assignments import assignment

AT = datetime(2026, 11, 15, 19, 28, tzinfo=UTC)
RUN = assignment(Path("/repo")).run
RECORDED = Path(__file__).parents[1] / "coders" / "transcripts"


def told(*signals: Signal) -> list[str]:
    files = ChangedFiles("/repo")
    return [event.text for each in signals for event in files.events(each, RUN, AT)]


def test_a_file_is_told_once_however_it_is_named() -> None:
    often = (Changed("src/a.py", "added"), Changed("/repo/src/a.py"), Changed("src/../src/a.py"))
    assert told(*often, Said("done")) == ["added src/a.py"]


def test_a_file_that_is_deleted_afterwards_is_told_again() -> None:
    assert told(Changed("a"), Changed("a", "deleted"), Changed("a", "deleted")) == [
        "modified a",
        "deleted a",
    ]


def test_a_file_outside_of_the_worktree_keeps_its_whole_path() -> None:
    assert told(Changed("../etc/passwd"), Changed("/repository/a")) == [
        "modified /etc/passwd",
        "modified /repository/a",
    ]


def test_the_number_of_files_is_bounded() -> None:
    assert len(told(*(Changed(f"{n}.txt") for n in range(MOST_FILES + 50)))) == MOST_FILES


def test_what_an_earlier_reader_has_told_is_not_told_again() -> None:
    files = ChangedFiles("/repo")
    files.recall(Changed("a.py"))
    assert list(files.events(Changed("a.py"), RUN, AT)) == []


@pytest.mark.parametrize(
    ("name", "recording", "files"),
    [
        ("claude", "claude-tool-acceptEdits", ["added hello.txt"]),
        ("codex", "codex-tool-codemode", ["added hello.txt"]),
        ("gemini", "gemini-tool", ["modified hello.txt"]),
        ("opencode", "opencode-tool", ["modified hello.txt"]),
    ],
)
def test_recorded_programs_name_the_files_that_they_change(
    name: str, recording: str, files: list[str]
) -> None:
    lines = (RECORDED / f"{recording}.jsonl").read_text().splitlines()
    assert told(*(signal for line in lines for signal in coder(name).read(line))) == files
