"""What the core asks of the world: a Store, Coders, a Clock. Nothing here knows who answers."""

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
    """The time of day, injected so that tests can hold it still."""

    def now(self) -> datetime: ...


class Uptime(NamedTuple):
    """How long this boot of the machine has been awake: no one can set it like a clock."""

    boot: str
    seconds: float


class Write(NamedTuple):
    """One atomic step: all of it or nothing.

    Every noun carries a `version`. Version 0 is new and must not exist yet; version n replaces
    version n-1 and is refused as Stale when something else is stored. `fences` names tasks that the
    writer holds: the step is refused when a task's stored fence differs.
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

    `parents` are the tasks whose agents created them. `text` are words that a task must have, all
    of them: see `codefleet.domain.search`.
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

        A task whose run's lease ran out may start again. Nothing starts while the setting
        `paused` is set. The events that a claim carries are appended with it.
        """

    async def now(self) -> datetime:
        """The time of day, by which events are dated and waits until a moment are judged."""

    async def steady(self) -> datetime:
        """The time by which leases and heartbeats are judged. It never jumps on one machine.

        It may differ from the time of day, so only spans of it mean something.
        """

    async def tasks(self, query: TaskQuery) -> Sequence[Task]: ...

    async def unmet(self, tasks: Sequence[TaskId]) -> Mapping[TaskId, Sequence[Task]]:
        """For each of these tasks, what it needs that is not completed."""

    async def needed_by(self, task: TaskId) -> Sequence[TaskId]:
        """The tasks that need this one directly."""

    async def matching(self, prefix: str) -> Sequence[TaskId]:
        """Up to three task ids that begin so."""

    async def counts(self) -> Mapping[str, int]:
        """Tasks by state, with pending ones that wait for a need counted as `blocked`."""

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
        """The bill of a time, from the `run.used` events: a row for each value of what it is `by`.

        One may ask by `day`, `coder`, `model`, `repo`, `task` and `source`, or by nothing, for the
        sum. Nothing spent is no row.
        """

    async def next_start(self) -> datetime | None:
        """When time alone will let something be claimed: the next rest or lease to end."""

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
        """Take these out of the log, because they are kept elsewhere; returns how many went.

        Only what is stored with the same seq, task and kind, of a task that is finished. What was
        spent and the newest event of all stay, so bills are whole and `seq` goes on rising.
        """

    async def last_seq(self) -> int: ...

    async def changed(self, after: int, within: float) -> bool:
        """Wait for an event later than seq `after`; False when `within` seconds passed."""

    async def lanes(self) -> Sequence[Lane]: ...

    async def messages(self, *, open_only: bool = False) -> Sequence[Message]:
        """What humans said to agents, oldest first; with `open_only`, what nobody has got yet."""

    async def rests(self) -> Sequence[Rest]: ...

    async def workflows(self, *, ids: Sequence[str] | None = None) -> Sequence[Workflow]:
        """Workflows, oldest first."""

    def export(self) -> AsyncIterator[tuple[str, str]]:
        """Everything, as (kind of noun, JSON), in an order that can be read back."""

    async def load(self, rows: Sequence[tuple[str, str]]) -> None:
        """Take back what `export` gave, all or none, into an empty store."""

    async def erase(self, event: Event) -> None:
        """Forget everything but this event, which tells of it; `seq` goes on rising."""

    async def about(self) -> str:
        """Which engine it is and where, for people; it holds no secret."""

    async def close(self) -> None: ...


class Assignment(NamedTuple):
    """What a coder needs to know to start a run.

    `judged` are globs of the tools that the policy has rules about: a program that can ask for
    leave should ask before it uses one of them. `tools` is the call of the run's own MCP server,
    for programs that take one; it is empty where agents get none.
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
    """How to start an agent program: no shell, prompt by stdin or file, least environment.

    One that `listens` keeps its standard input open after `stdin`, for lines said while it runs.
    """

    argv: Sequence[str]
    env: Mapping[str, str] = {}
    stdin: str | None = None
    stop_signal: str = "SIGTERM"
    listens: bool = False


class Abilities(NamedTuple):
    """What a coder can do."""

    resume: bool = False
    """It can go on with a session that ended its turn."""
    resume_after_crash: bool = False
    """It can also go on with a session that was killed."""
    remembers: bool = True
    """A resumed session needs only what is new; another may begin anew, and is told everything."""
    reports_cost: bool = False
    reports_tokens: bool = False
    """What one uses that never reports tokens is guessed."""
    says_when_done: bool = False
    """It ends every good run with Finished: without it the run was cut off, whatever the exit code
    says."""
    reports_context: bool = False
    """It tells, while it works, how full its context is."""
    memory_mb: int = 300
    """A guess, until runs have shown what it needs."""
    talks: bool = False
    """It is a Talker: it takes words while it runs and asks for permission to use tools."""
    verified: bool = False
    """The tests run it with its real program."""
    keys: tuple[str, ...] = ()
    """The variables by which its program can be logged in."""


class Answers(NamedTuple):
    """What a program told about itself, and what stands in its files and its environment."""

    exit_code: int | None = None
    said: str = ""
    files: Mapping[str, str] = {}
    env: Mapping[str, str] = {}


def _nobody_can_tell(answers: Answers) -> bool | None:
    return None


class Probe(NamedTuple):
    """What a program is called with to tell about itself, without spending a token.

    Its `help` lists every flag that the coder uses, except the `hidden` ones. `logged_in` reads
    what it says to `login` and what stands in `files` of its `folder`, which a variable names or is
    the usual one: True, False, or None when nobody can tell. `log_in` is what a human does then.
    `install` is the command that installs it.
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
        """What the program's end means when its output did not tell: Broke, Limited, nothing.

        It is asked only about runs without a Finished, Broke, Limited or Asks.
        """


@runtime_checkable
class Probed(Coder, Protocol):
    """A coder whose program `fleet doctor` can ask about itself."""

    probe: Probe


class Talker(Coder, Protocol):
    """A coder whose program listens while it runs. Pure: these are the lines to send."""

    def say(self, id: str, text: str) -> str:
        """The line that brings a human's words to the running agent; for one id always the same."""

    def permit(self, wants: Wants, *, allowed: bool, why: str = "") -> str:
        """The line that answers a request to use a tool."""
