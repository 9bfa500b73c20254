"""The nouns. One class per noun, from database row to JSON to tool schema: no shadow copies.

Tasks, runs, teams and swarms have files of their own; everybody imports them from here.
"""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, field

from codefleet.domain.file_claims import FileClaim, FileClaims
from codefleet.domain.handover import Checkpoint, CheckpointStatus
from codefleet.domain.ids import (
    AlertId,
    CheckpointId,
    InviteId,
    MessageId,
    PostId,
    QuestionId,
    ReviewId,
    RunId,
    RunnerId,
    SwarmId,
    TaskId,
    TokenId,
)
from codefleet.domain.memory import Memory, MemoryType
from codefleet.domain.noun import Instant, Name, Natural, Noun, Record
from codefleet.domain.review import Comment, Decision, Review
from codefleet.domain.run import Change, Check, Evidence, Result, Run, Usage, Worked, dollars
from codefleet.domain.swarm import Post, PostPriority, PostType, Swarm
from codefleet.domain.task import (
    LARGEST_METADATA,
    Brief,
    Budget,
    Draft,
    Preference,
    Priority,
    Stage,
    Task,
)
from codefleet.domain.team import Alert, Invite, Member, Team, Token
from codefleet.domain.words import Reason

__all__ = [
    "LARGEST_METADATA",
    "Alert",
    "AlertId",
    "Away",
    "Brief",
    "Budget",
    "Change",
    "Check",
    "Checkpoint",
    "CheckpointId",
    "CheckpointStatus",
    "Comment",
    "Conflict",
    "Decision",
    "Draft",
    "Event",
    "Evidence",
    "FileClaim",
    "FileClaims",
    "Invite",
    "InviteId",
    "Lane",
    "Member",
    "Memory",
    "MemoryType",
    "Message",
    "MessageId",
    "Post",
    "PostId",
    "PostPriority",
    "PostType",
    "Preference",
    "Priority",
    "Question",
    "QuestionId",
    "Receipt",
    "Repo",
    "Rest",
    "Result",
    "Review",
    "ReviewId",
    "Run",
    "RunId",
    "Runner",
    "RunnerId",
    "Setting",
    "Stage",
    "Swarm",
    "SwarmId",
    "Task",
    "TaskId",
    "Team",
    "Token",
    "TokenId",
    "Usage",
    "Worked",
    "Workflow",
    "dollars",
]


class Away(Noun):
    """A remote that a runner cannot reach, and since when."""

    repo: str
    why: str
    since: Instant


class Runner(Record):
    """A process on some machine that holds seats and drives their runs.

    With a `workflow`, it works only on that; with a `coder`, only on tasks for it or for any.
    """

    id: RunnerId
    host: str
    machine: str = ""
    pid: int
    pid_started: float
    seats: tuple[str, ...]
    coder: str | None = None
    workflow: str | None = None
    waits: str = ""
    away: tuple[Away, ...] = ()
    load: float = 0.0
    memory_free_mb: int = 0
    seen_at: Instant
    version: Natural = 0


class Repo(Record):
    """A git repository the fleet works on.

    `paths` holds its folder on each machine. Once it is `shared`, work travels between machines
    through its remote, and the remote's trunk is the one that counts.
    """

    name: str
    path: str
    trunk: str
    remote: str | None = None
    paths: dict[str, str] = field(default_factory=dict)
    shared: bool = False
    version: Natural = 0

    @property
    def trunk_ref(self) -> str:
        """The ref of the trunk that work starts from and lands on."""
        return f"refs/remotes/origin/{self.trunk}" if self.shared else f"refs/heads/{self.trunk}"


class Lane(Record):
    """The right to land work on a repo's trunk, held by one runner at a time under a lease."""

    repo: str
    holder: RunnerId
    fence: Natural
    lease_until: Instant
    version: Natural = 0


class Question(Record):
    """Something a human must answer: a question, or whether an agent may use a tool."""

    id: QuestionId
    task: TaskId
    run: RunId
    text: str
    options: tuple[str, ...] = ()
    tool: str | None = None
    detail: str = ""
    asked_at: Instant
    asked_steady: Instant | None = None
    answer: str | None = None
    answered_at: Instant | None = None
    answered_steady: Instant | None = None
    version: Natural = 0


class Message(Record):
    """A message to an agent; `task` is what it was working on when it was sent.

    With a `run` but not yet delivered, it is on its way to an agent that listens. Mail has a
    `sender`; without one, a human who supervises the agent wrote it.
    """

    id: MessageId
    agent: str
    task: TaskId | None = None
    text: str
    sender: Name | None = None
    to: Name | None = None
    """The handle that mail is for: whoever has it next gets it, whatever the task."""
    subject: Annotated[str, Meta(max_length=200)] = ""
    context: dict[str, Any] | None = None
    """What is handed over with it; only a handoff has this."""
    team: str | None = None
    sent_at: Instant
    run: RunId | None = None
    delivered_at: Instant | None = None
    version: Natural = 0

    def is_for(self, run: Run, task: Task) -> bool:
        """Should the agent of this run, which works on this task, get it?"""
        if self.to is not None:
            return self.team == task.team and self.to in (task.handle, task.id)
        return self.task == run.task if self.task else self.agent == run.agent


class Rest(Record):
    """An account of a coder at rest: until a given time or, without one, until a human wakes it.

    The time is `guessed` if the provider did not give it. `remedy` is what a human can do.
    """

    account: str
    reason: Reason
    note: str
    since: Instant
    until: Instant | None = None
    guessed: bool = False
    remedy: str = ""
    version: Natural = 0

    def holds(self, now: datetime) -> bool:
        """Not before it began: then the clock that wrote it has since been corrected."""
        return self.until is None or self.since <= now < self.until


class Workflow(Record):
    """A description that became tasks. Its state is derived from them.

    The `budget` is for all of its runs together.
    """

    id: str
    name: str
    prompt: str
    repo: str
    tasks: tuple[TaskId, ...]
    budget: Budget | None = None
    created_at: Instant
    version: Natural = 0


class Conflict(Record):
    """Two unfinished pieces of work that change the same lines and conflict."""

    id: str
    tasks: tuple[TaskId, TaskId]
    paths: tuple[str, ...]
    found: str
    found_at: Instant
    version: Natural = 0


class Receipt(Record):
    """A request that was carried out, and the names of what it created.

    A client that got no answer can send it again, and nothing is created twice.
    """

    id: str
    team: str | None = None
    request: str
    made: tuple[str, ...]
    at: Instant
    version: Natural = 0


class Setting(Noun):
    """A value that the whole fleet shares, such as whether it is paused."""

    name: str
    value: str


class Event(Noun):
    """One entry of the fleet's append-only log. The store assigns its `seq`."""

    seq: Natural = 0
    at: Instant
    kind: str
    task: TaskId | None = None
    run: RunId | None = None
    agent: str | None = None
    by: str = ""
    """Who caused it: `human`, `owner`, `HANDLE@TEAM`, `run ID` or `runner HOST`; unknown in old
    logs."""
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)
