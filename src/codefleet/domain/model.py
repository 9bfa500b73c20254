"""The nouns. One class per noun, from database row to JSON to tool schema: no shadow copies."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, NewType

import msgspec
from msgspec import Meta, field
from msgspec.structs import force_setattr

from codefleet.domain.invisible import is_visible
from codefleet.domain.noun import Amount, Count, Instant, Natural, Noun, Positive, each_once, in_utc
from codefleet.domain.words import Claimed, Complexity, Landing, Outcome, Reason, State

TaskId = NewType("TaskId", str)
RunId = NewType("RunId", str)
RunnerId = NewType("RunnerId", str)
QuestionId = NewType("QuestionId", str)
MessageId = NewType("MessageId", str)
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
    landing: Landing = Landing.BRANCH


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
    not_before: Instant | None = None
    max_attempts: Count | None = None
    timeout_s: Positive | None = None
    options: dict[str, Any] = field(default_factory=dict)
    base: str | None = None
    lands: Landing | None = None
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
    """

    id: TaskId
    repo: str
    parent: TaskId | None = None
    state: State = State.PENDING
    paused: bool = False
    approved: bool = False
    approved_commit: str | None = None
    landing: bool = False
    attempts: Natural = 0
    runs: Natural = 0
    fence: Natural = 0
    reason: Reason | None = None
    note: str = ""
    resting_since: Instant | None = None
    route: str | None = None
    rerouted_from: Preference | None = None
    branch: str | None = None
    landed: str | None = None
    created_at: Instant
    updated_at: Instant
    version: Natural = 0

    @property
    def failed_but_continued(self) -> bool:
        """Did it fail as a stage whose workflow goes on without it?"""
        return self.state is State.COMPLETED and self.reason is not None


def dollars(amount: float) -> float:
    """An amount of money without binary rounding noise: 0.3, not 0.29999999999999993."""
    return round(amount, 9)


class Usage(Noun):
    """Sums of tokens and money."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost_usd=dollars(self.cost_usd + other.cost_usd),
        )

    def __sub__(self, other: "Usage") -> "Usage":
        """What was added since `other`; never negative."""
        return Usage(
            input_tokens=max(0, self.input_tokens - other.input_tokens),
            output_tokens=max(0, self.output_tokens - other.output_tokens),
            cached_tokens=max(0, self.cached_tokens - other.cached_tokens),
            cost_usd=dollars(max(0.0, self.cost_usd - other.cost_usd)),
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class Change(Noun):
    """A file touched by a run, as git sees it."""

    path: str
    kind: str
    added: int = 0
    removed: int = 0


class Check(Noun):
    """One check command as the fleet itself ran it."""

    command: str
    exit_code: int
    seconds: float
    log: str = ""
    tail: str = ""

    @property
    def passed(self) -> bool:
        return self.exit_code == 0


class Evidence(Noun):
    """What the fleet itself observed of a run: git facts and check commands.

    Merges do not count as commits: the fleet makes them too, when the trunk has moved.
    """

    base: str
    tip: str
    tree: str
    commits: int = 0
    salvaged: bool = False
    changes: tuple[Change, ...] = ()
    outside_scope: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    checkout_touched: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def checks_passed(self) -> bool:
        return all(check.passed for check in self.checks)


class Result(Noun):
    """What an agent reports about its work when it ends; files and commits are taken from git.

    `choice` is the stage that a judge picks.
    """

    status: Claimed = Claimed.COMPLETED
    summary: str = ""
    files_changed: tuple[str, ...] = ()
    tests: str = ""
    commits: int = 0
    next_steps: tuple[str, ...] = ()
    question: str = ""
    options: tuple[str, ...] = ()
    choice: str = ""


class Worked(Noun):
    """How many seconds an agent has worked, as of an uptime of one boot."""

    boot: str
    uptime: Amount
    seconds: Amount = 0.0


class Run(Noun):
    """One attempt at a task by one agent, under a lease."""

    id: RunId
    task: TaskId
    number: int
    agent: str
    runner: RunnerId
    host: str
    fence: Natural
    lease_until: Instant
    coder: str
    model: str | None = None
    branch: str | None = None
    base: str | None = None
    worktree: str | None = None
    session: str | None = None
    listens: bool = False
    offset: int = 0
    usage: Usage = Usage()
    memory_mb: int = 0
    worked: Worked | None = None
    context: float = 0.0
    """The share of the context window that is in use; 0 if the program does not report it."""
    outcome: Outcome | None = None
    reason: Reason | None = None
    note: str = ""
    said: str = ""
    tip: str | None = None
    evidence: Evidence | None = None
    result: Result | None = None
    started_at: Instant
    ended_at: Instant | None = None
    version: Natural = 0

    @property
    def is_live(self) -> bool:
        return self.outcome is None

    @property
    def made(self) -> str | None:
        """The newest commit of this run that the fleet has seen, or that a human approved."""
        return self.tip or (self.evidence.tip if self.evidence else None)


class Away(Noun):
    """A remote that a runner cannot reach, and since when."""

    repo: str
    why: str
    since: Instant


class Runner(Noun):
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


class Repo(Noun):
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


class Lane(Noun):
    """The right to land work on a repo's trunk, held by one runner at a time under a lease."""

    repo: str
    holder: RunnerId
    fence: Natural
    lease_until: Instant
    version: Natural = 0


class Question(Noun):
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


class Message(Noun):
    """A human's message to an agent; `task` is what it was working on when it was sent.

    With a `run` but not yet delivered, it is on its way to an agent that listens.
    """

    id: MessageId
    agent: str
    task: TaskId | None = None
    text: str
    sent_at: Instant
    run: RunId | None = None
    delivered_at: Instant | None = None
    version: Natural = 0


class Rest(Noun):
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


class Workflow(Noun):
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


class Conflict(Noun):
    """Two unfinished pieces of work that change the same lines and conflict."""

    id: str
    tasks: tuple[TaskId, TaskId]
    paths: tuple[str, ...]
    found: str
    found_at: Instant
    version: Natural = 0


class Event(Noun):
    """One entry of the fleet's append-only log. The store assigns its `seq`."""

    seq: Natural = 0
    at: Instant
    kind: str
    task: TaskId | None = None
    run: RunId | None = None
    agent: str | None = None
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)
