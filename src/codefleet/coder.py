"""What a coder is: how to start one kind of agent program, how to read it, and what it can do.

The built-in ones are in `codefleet.coders`; others are plugins.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from codefleet.domain.model import Run, Task
from codefleet.domain.signals import Signal, Wants


class Endpoint(NamedTuple):
    """Where a run's own tools are served over HTTP, and the token that its requests carry.

    The token must not be in an argument, which everybody on the machine can see.
    """

    url: str
    token: str


class Assignment(NamedTuple):
    """What a coder needs to know to start a run.

    `judged` are globs of the tools that the policy has rules about: a program that can ask for
    permission should do so before it uses one. `tools` is the command of the run's own MCP server,
    for programs that take one; it is empty if agents get none. A coder with the ability
    `http_tools` may get an `endpoint` too, and should prefer it: it costs no process.
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
    endpoint: Endpoint | None = None


class Start(NamedTuple):
    """How to start an agent program: no shell, prompt by stdin or file, minimal environment.

    One that `listens` keeps its standard input open after `stdin`, for lines sent while it runs.
    `files` are written before it starts, in the folder of `prompt_file`; only the owner can read
    them, so they may contain keys.
    """

    argv: Sequence[str]
    env: Mapping[str, str] = {}
    stdin: str | None = None
    stop_signal: str = "SIGTERM"
    listens: bool = False
    files: Mapping[str, str] = {}


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
    http_tools: bool = False
    """Its program takes MCP servers that are reached over HTTP."""
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
