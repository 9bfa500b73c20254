"""Checkpoints: what an agent knows at a moment, enough for another to go on."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from codefleet.domain.ids import CheckpointId, RunId, TaskId
from codefleet.domain.noun import Instant, Name, Natural, Noun, Record

Words = Annotated[str, Meta(min_length=1, max_length=10_000)]
Lines = tuple[Annotated[str, Meta(max_length=10_000)], ...]


class CheckpointStatus(StrEnum):
    """Whether another agent goes on from it."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class DonePart(Noun):
    """A part of the work that is done, and the files it is in."""

    task: str
    files: tuple[str, ...] = ()


class TouchedFiles(Noun):
    """The files that an agent says it created and modified."""

    created: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()


class Checkpoint(Record):
    """What the agent `author` knew, for `to` or whoever goes on; `task` and `run` are its own."""

    id: CheckpointId
    author: Name
    to: Name | None = None
    goal: Words
    now: Words
    test: Annotated[str, Meta(max_length=10_000)] = ""
    done_this_session: tuple[DonePart, ...] = ()
    blockers: Lines = ()
    questions: Lines = ()
    worked: Lines = ()
    failed: Lines = ()
    next: Lines = ()
    files: TouchedFiles = TouchedFiles()
    status: CheckpointStatus = CheckpointStatus.PENDING
    outcome: str = ""
    """Why it was rejected, or who went on from it and how."""
    task: TaskId | None = None
    run: RunId | None = None
    team: str | None = None
    created_at: Instant
    version: Natural = 0

    def text(self) -> str:
        """The checkpoint for an agent to read, without its empty parts."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"Goal: {self.goal}"
        yield f"Now: {self.now}"
        if self.test:
            yield f"Test: {self.test}"
        done = tuple(f"{part.task} ({', '.join(part.files)})" for part in self.done_this_session)
        parts = {
            "Done": tuple(each.removesuffix(" ()") for each in done),
            "Worked": self.worked,
            "Failed": self.failed,
            "Blockers": self.blockers,
            "Questions": self.questions,
            "Next": self.next,
            "Created": self.files.created,
            "Modified": self.files.modified,
        }
        for title, lines in parts.items():
            yield from (f"{title}: {line}" for line in lines)
