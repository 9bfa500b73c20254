"""Tasks: what can be specified for one, and what becomes of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field
from msgspec.structs import force_setattr

from codefleet.domain.ids import TaskId
from codefleet.domain.invisible import is_visible
from codefleet.domain.noun import (
    Count,
    Instant,
    Name,
    Natural,
    Noun,
    Positive,
    each_once,
    in_utc,
)
from codefleet.domain.words import Complexity, LandingMode, Reason, State

Priority = Annotated[int, Meta(ge=1, le=5)]

LARGEST_METADATA = 16_000


class Budget(Noun):
    """What a task may cost, over all its runs."""

    usd: Positive | None = None
    tokens: Count | None = None


class Stage(Noun):
    """A task's place in a workflow, and its rules there.

    If a stage that `carries_on` fails, the others go on. A `gate` asks a human a question instead
    of giving work to an agent. A stage that `judges` others takes over the work of the best.
    """

    workflow: str
    name: str
    number: int
    inherit: bool = False
    judges: tuple[str, ...] = ()
    gate: str | None = None
    when: str | None = None
    carries_on: bool = False
    lands: LandingMode = field(name="landing", default=LandingMode.BRANCH)
    """Its landing mode; workflow files and stored tasks call it `landing`."""


class Brief(Noun):
    """What can be specified for a task."""

    title: Annotated[str, Meta(min_length=1, max_length=200)]
    prompt: Annotated[str, Meta(max_length=1_000_000)] = ""
    priority: Priority = 3
    labels: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    complexity: Complexity | None = None
    repo: str | None = None
    coder: str | None = None
    model: str | None = None
    fallback: str | None = None
    budget: Budget | None = None
    assignee: str | None = None
    team: str | None = None
    """The team that it belongs to; without one, only the owner of the fleet sees it."""
    handle: Name | None = None
    """What people and other agents call its worker; unique among a team's unfinished tasks."""
    swarm: str | None = None
    """The swarm that its agents work in."""
    not_before: Instant | None = None
    max_attempts: Count | None = None
    timeout_s: Positive | None = None
    options: dict[str, Any] = field(default_factory=dict)
    base: str | None = None
    lands: LandingMode | None = None
    """Its landing mode; without one, the repo's."""
    metadata: dict[str, Any] = field(default_factory=dict)
    stage: Stage | None = None


class Draft(Brief):
    """A task to add, with a `name` by which others that are added with it can need it.

    Its title becomes one line, its names are sorted, and oversized metadata is refused. Values of a
    wrong type are kept as they are: they are refused when the draft is added.
    """

    name: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.title, str):
            force_setattr(self, "title", _one_line(self.title))
        for name in ("labels", "scope", "needs"):
            force_setattr(self, name, each_once(getattr(self, name)))
        if isinstance(self.not_before, datetime) and self.not_before.tzinfo:
            force_setattr(self, "not_before", in_utc(self.not_before))
        _refuse_too_big(self.metadata)


def _one_line(title: str) -> str:
    if not title.isprintable():
        title = "".join(c if c.isprintable() else " " for c in title)
    words = " ".join(title.split())
    if not any(map(is_visible, words)):
        raise ValueError("a title needs at least one visible character")
    return words


def _refuse_too_big(metadata: Mapping[str, Any]) -> None:
    try:
        size = len(msgspec.json.encode(metadata))
    except TypeError:
        raise ValueError("metadata must be plain JSON") from None
    if size > LARGEST_METADATA:
        raise ValueError(f"metadata has {size} characters; at most {LARGEST_METADATA} are allowed")


class Preference(Noun):
    """The original choice for a task while a fallback works on it."""

    coder: str
    model: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    route: str | None = None
    fallback: str | None = None


class Task(Brief):
    """One piece of work.

    `resting_since` distinguishes a rest that the fleet decided on from a human's `not_before`.
    `approved` work may land, and waits in the lane; it `is_landing` while the trunk moves to it.
    `cancelled_by` is the failed or cancelled stage that took this one with it.
    """

    id: TaskId
    repo: str
    parent: TaskId | None = None
    state: State = State.PENDING
    paused: bool = False
    approved: bool = False
    approved_commit: str | None = None
    is_landing: bool = field(name="landing", default=False)
    """Stored as `landing`."""
    attempts: Natural = 0
    runs: Natural = 0
    fence: Natural = 0
    reason: Reason | None = None
    note: str = ""
    cancelled_by: TaskId | None = None
    resting_since: Instant | None = None
    route: str | None = None
    rerouted_from: Preference | None = None
    branch: str | None = None
    landed: str | None = None
    created_at: Instant
    updated_at: Instant
    version: Natural = 0

    @property
    def worker(self) -> str | None:
        """Its handle and its team, as stores compare them; None if it has no handle."""
        return self.handle and f"{self.handle}/{self.team or ''}"

    @property
    def failed_but_continued(self) -> bool:
        """Did it fail as a stage whose workflow goes on without it?"""
        return self.state is State.COMPLETED and self.reason is not None
