"""What the core needs from outside: a Store, Coders, a Clock. Nothing here names a provider."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from codefleet.domain.lifecycle import Claim, Seat
from codefleet.domain.model import (
    Conflict,
    Event,
    Lane,
    Message,
    Question,
    QuestionId,
    Repo,
    Rest,
    Run,
    RunId,
    Runner,
    Task,
    TaskId,
    Workflow,
)
from codefleet.domain.scheduling import Want
from codefleet.domain.signals import Signal, Wants
from codefleet.domain.views import Spent
from codefleet.domain.words import State


class Clock(Protocol):
    """The time of day, injected so that tests can stop it."""

    def now(self) -> datetime: ...


class Uptime(NamedTuple):
    """How long this boot of the machine has been awake; unlike a clock, it cannot be set."""

    boot: str
    seconds: float


class Write(NamedTuple):
    """One atomic step: all of it or nothing.

    Every noun carries a `version`. Version 0 is new and must not exist yet; version n replaces
    version n-1 and is refused as Stale if something else is stored. `fences` names tasks that the
    writer holds: the step is refused if a task's stored fence differs.
    """

    tasks: Sequence[Task] = ()
    runs: Sequence[Run] = ()
    questions: Sequence[Question] = ()
    conflicts: Sequence[Conflict] = ()
    repos: Sequence[Repo] = ()
    runners: Sequence[Runner] = ()
    lanes: Sequence[Lane] = ()
    messages: Sequence[Message] = ()
    rests: Sequence[Rest] = ()
    workflows: Sequence[Workflow] = ()
    settings: Mapping[str, str | None] = {}
    events: Sequence[Event] = ()
    fences: Mapping[TaskId, int] = {}


class TaskQuery(NamedTuple):
    """Which tasks to read. Empty means "any"; the order is urgency: priority, then age.

    `parents` are the tasks whose agents created them. `text` holds words that a task must all
    contain: see `codefleet.domain.search`.
    """

    ids: Sequence[TaskId] | None = None
    parents: Sequence[TaskId] | None = None
    states: Sequence[State] = ()
    repo: str | None = None
    label: str | None = None
    text: str | None = None
    ready: bool = False
    limit: int | None = None
    newest_first: bool = False


class Store(Protocol):
    """Where the fleet's nouns live. `tests/store/` is its specification."""

    async def write(self, step: Write) -> Sequence[Event]:
        """Do all of one step or nothing; return its events with their `seq`."""

    async def claim(
        self, seats: Sequence[Seat], want: Want, *, lease: timedelta
    ) -> Sequence[Claim]:
        """Give the most urgent tasks that may start to these seats, each to exactly one caller.

        A task whose run's lease expired may start again. Nothing starts while the setting
        `paused` is set. The events of a claim are appended with it.
        """

    async def now(self) -> datetime:
        """The time of day: it dates events, and decides when a wait is over."""

    async def steady(self) -> datetime:
        """The time for leases and heartbeats. It never jumps on one machine.

        It may differ from the time of day, so only differences are meaningful.
        """

    async def tasks(self, query: TaskQuery) -> Sequence[Task]: ...

    async def unmet(self, tasks: Sequence[TaskId]) -> Mapping[TaskId, Sequence[Task]]:
        """For each of these tasks, the needs that are not completed."""

    async def needed_by(self, task: TaskId) -> Sequence[TaskId]:
        """The tasks that need this one directly."""

    async def matching(self, prefix: str) -> Sequence[TaskId]:
        """Up to three task ids with this prefix."""

    async def counts(self) -> Mapping[str, int]:
        """Tasks by state; pending ones that wait for a need count as `blocked`."""

    async def runs(
        self,
        *,
        ids: Sequence[RunId] | None = None,
        tasks: Sequence[TaskId] | None = None,
        live: bool = False,
    ) -> Sequence[Run]: ...

    async def spent(
        self, *, since: datetime, until: datetime | None = None, by: Sequence[str] = ()
    ) -> Sequence[Spent]:
        """What was spent, from the `run.used` events: a row for each value of what is in `by`.

        `by` may name `day`, `coder`, `model`, `repo`, `task` and `source`; empty means the total.
        If nothing was spent, there is no row.
        """

    async def next_start(self) -> datetime | None:
        """When something becomes claimable by time alone: the next end of a rest or lease."""

    async def questions(
        self,
        *,
        ids: Sequence[QuestionId] | None = None,
        tasks: Sequence[TaskId] | None = None,
        open_only: bool = False,
    ) -> Sequence[Question]: ...

    async def conflicts(self, *, since: datetime | None = None) -> Sequence[Conflict]: ...

    async def repos(self) -> Sequence[Repo]: ...

    async def runners(self) -> Sequence[Runner]: ...

    async def forget_runner(self, runner: str) -> None: ...

    async def settings(self) -> Mapping[str, str]: ...

    async def events(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        task: TaskId | None = None,
        kinds: Sequence[str] = (),
        limit: int = 1000,
        newest: bool = False,
    ) -> Sequence[Event]:
        """Events in the order of `seq`; with `newest`, the last ones instead of the first."""

    async def forget_events(self, events: Sequence[Event]) -> int:
        """Remove these from the log because they are stored elsewhere; returns how many went.

        Removes only events stored with the same seq, task and kind, of a finished task. Usage
        events and the newest event of all stay, so that bills are complete and `seq` keeps rising.
        """

    async def last_seq(self) -> int: ...

    async def changed(self, after: int, within: float) -> bool:
        """Wait for an event later than seq `after`; False if `within` seconds passed."""

    async def lanes(self) -> Sequence[Lane]: ...

    async def messages(self, *, open_only: bool = False) -> Sequence[Message]:
        """Messages from humans to agents, oldest first; with `open_only`, the undelivered ones."""

    async def rests(self) -> Sequence[Rest]: ...

    async def workflows(self, *, ids: Sequence[str] | None = None) -> Sequence[Workflow]:
        """Workflows, oldest first."""

    def export(self) -> AsyncIterator[tuple[str, str]]:
        """Everything, as (kind of noun, JSON), in an order that can be read back."""

    async def load(self, rows: Sequence[tuple[str, str]]) -> None:
        """Load what `export` yielded, all or nothing, into an empty store."""

    async def erase(self, event: Event) -> None:
        """Delete everything but this event, which reports it; `seq` keeps rising."""

    async def about(self) -> str:
        """The engine and its location, for people; contains no secret."""

    async def close(self) -> None: ...


class Assignment(NamedTuple):
    """What a coder needs to know to start a run.

    `judged` are globs of the tools that the policy has rules about: a program that can ask for
    permission should do so before it uses one. `tools` is the command of the run's own MCP server,
    for programs that take one; it is empty if agents get none.
    """

    run: Run
    task: Task
    prompt: str
    prompt_file: Path
    worktree: Path
    options: Mapping[str, object]
    resume: str | None = None
    judged: Sequence[str] = ()
    tools: Sequence[str] = ()


class Start(NamedTuple):
    """How to start an agent program: no shell, prompt by stdin or file, minimal environment.

    One that `listens` keeps its standard input open after `stdin`, for lines sent while it runs.
    """

    argv: Sequence[str]
    env: Mapping[str, str] = {}
    stdin: str | None = None
    stop_signal: str = "SIGTERM"
    listens: bool = False


class Abilities(NamedTuple):
    """What a coder can do."""

    resume: bool = False
    """It can continue a session that ended its turn."""
    resume_after_crash: bool = False
    """It can also continue a session that was killed."""
    remembers: bool = True
    """A resumed session needs only what is new; otherwise it may start anew and gets everything."""
    reports_cost: bool = False
    reports_tokens: bool = False
    """If a program never reports tokens, its usage is estimated."""
    says_when_done: bool = False
    """It ends every successful run with Finished: without it the run was cut off, whatever the exit
    code."""
    reports_context: bool = False
    """It reports, while it works, how much of its context is used."""
    memory_mb: int = 300
    """An estimate, until runs have shown what it needs."""
    talks: bool = False
    """It is a Talker: it takes messages while it runs and asks for permission to use tools."""
    verified: bool = False
    """The tests run its real program."""
    keys: tuple[str, ...] = ()
    """The environment variables that can log its program in."""
    gateways: tuple[str, ...] = ()
    """The environment variables that send its requests to another address or provider."""


class Answers(NamedTuple):
    """What a program reported about itself, and the contents of its files and environment."""

    exit_code: int | None = None
    said: str = ""
    files: Mapping[str, str] = {}
    env: Mapping[str, str] = {}


def _nobody_can_tell(answers: Answers) -> bool | None:
    return None


class Probe(NamedTuple):
    """How to ask a program about itself, without spending a token.

    Its `help` lists every flag that the coder uses, except the `hidden` ones. `logged_in` reads
    its answer to `login` and the `files` in its `folder` (from a variable, or else the default):
    True, False, or None if unknown. `log_in` is what a human does then. `install` is the command
    that installs it.
    """

    version: Sequence[str] = ("--version",)
    help: Sequence[str] = ("--help",)
    hidden: Sequence[str] = ()
    login: Sequence[str] = ()
    folder: tuple[str, str] = ("HOME", "~")
    files: Sequence[str] = ()
    logged_in: Callable[[Answers], bool | None] = _nobody_can_tell
    log_in: str = ""
    install: str = ""


class Coder(Protocol):
    """How to start one kind of agent program and how to read it. Pure: no I/O."""

    name: str
    abilities: Abilities

    def start(self, assignment: Assignment) -> Start: ...

    def read(self, line: str) -> Iterator[Signal]:
        """What one line of output means. Unknown lines mean nothing; no line raises."""

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        """What the program's end means if its output did not say: Broke, Limited, or nothing.

        Called only for runs without a Finished, Broke, Limited or Asks.
        """


@runtime_checkable
class Probed(Coder, Protocol):
    """A coder whose program `fleet doctor` can ask about itself."""

    probe: Probe


class Talker(Coder, Protocol):
    """A coder whose program listens while it runs. Pure: these are the lines to send."""

    def say(self, id: str, text: str) -> str:
        """The line that sends a human's message to the running agent; the same for the same id."""

    def permit(self, wants: Wants, *, allowed: bool, why: str = "") -> str:
        """The line that answers a permission request."""
