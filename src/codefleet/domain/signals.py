"""What an agent lets be known as it works, in the fleet's words; coders translate into them."""

from typing import NamedTuple

from codefleet.domain.model import Usage
from codefleet.domain.noun import Instant


class Started(NamedTuple):
    session: str | None = None
    model: str | None = None


class Said(NamedTuple):
    """Words of the agent; with `more` they go on where a Said just before them ended."""

    text: str
    more: bool = False


class Tool(NamedTuple):
    """A tool call begins or, with `done`, ends."""

    name: str
    detail: str = ""
    done: bool = False


class Touched(NamedTuple):
    path: str


class Used(NamedTuple):
    """Tokens and money: what came on top or, with `in_all`, the sum of the whole session so far.

    `model` is for programs that change it on their way. With `message`, it is what one message of
    the model took at least; the next sum of the session has it too, and takes its place.
    """

    usage: Usage
    in_all: bool = False
    model: str | None = None
    message: str | None = None


class Filled(NamedTuple):
    """How full the context window is, in tokens; size 0 means that the program does not tell."""

    used: int
    size: int = 0


class Window(NamedTuple):
    """How large the context window of a model is, in tokens, as the program reports it."""

    model: str
    size: int


class Limited(NamedTuple):
    """The provider refuses more work until `resets_at`.

    With `quota`, or with a time, the account's allowance is used up: the account rests. Otherwise
    there were too many requests at once, and only this task waits, for seconds.
    """

    text: str
    resets_at: Instant | None = None
    quota: bool = False


class Asks(NamedTuple):
    """A question to a human; with a `tool` it is whether the agent may use it on `detail`."""

    text: str
    options: tuple[str, ...] = ()
    tool: str | None = None
    detail: str = ""


class Wants(NamedTuple):
    """The agent waits for leave to use a tool. `request` names what is to be answered.

    `paths` are the files that a file tool is to be used on, as the agent names them: rules look at
    where they lead. For any other tool, rules look at `detail`.
    """

    request: str
    tool: str
    detail: str = ""
    input: str = "{}"
    paths: tuple[str, ...] = ()


class Finished(NamedTuple):
    text: str = ""
    no_changes: bool = False


class Broke(NamedTuple):
    """The agent itself reports that it cannot go on; `reason` is one of the closed list.

    What is `passing` is trouble at its provider, which no attempt is to blame for. One that goes on
    `retrying`, although that is in vain, is to be stopped.
    """

    text: str
    reason: str = "unknown"
    passing: bool = False
    retrying: bool = False


Signal = (
    Started
    | Said
    | Tool
    | Touched
    | Used
    | Filled
    | Window
    | Limited
    | Asks
    | Wants
    | Finished
    | Broke
)
