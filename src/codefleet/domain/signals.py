"""What an agent reports as it works, in the fleet's terms; coders translate into them."""

from typing import NamedTuple

from codefleet.domain.model import Usage
from codefleet.domain.noun import Instant

ADDED, MODIFIED, DELETED = "added", "modified", "deleted"


class Started(NamedTuple):
    session: str | None = None
    model: str | None = None


class Said(NamedTuple):
    """Text from the agent; with `more`, it continues the Said just before it."""

    text: str
    more: bool = False


class Thought(NamedTuple):
    """What the agent thinks before it says or does something, if its program shows that."""

    text: str


class Tool(NamedTuple):
    """A tool call begins or, with `done`, ends with a `result`.

    `call` is the program's own name for the call, by which its end finds its beginning.
    """

    name: str
    detail: str = ""
    done: bool = False
    call: str = ""
    result: str = ""


class Changed(NamedTuple):
    """The agent changed a file; `change` is added, modified or deleted, as far as it says."""

    path: str
    change: str = MODIFIED


class Used(NamedTuple):
    """Tokens and money: an increment or, with `in_all`, the total of the session so far.

    `model` is for programs that switch models. With `message`, it is a lower bound for one message
    of the model; the session's next total includes and replaces it.
    """

    usage: Usage
    in_all: bool = False
    model: str | None = None
    message: str | None = None


class Filled(NamedTuple):
    """Context used, in tokens; size 0 means that the program does not report it."""

    used: int
    size: int = 0


class Window(NamedTuple):
    """The size of a model's context window, in tokens, as the program reports it."""

    model: str
    size: int


class Limited(NamedTuple):
    """The provider refuses more work until `resets_at`.

    With `quota`, or with a time, the account's quota is used up: the account rests. Otherwise it is
    a rate limit, and only this task waits, for seconds.
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
    """The agent waits for permission to use a tool. `request` identifies what to answer.

    `paths` are the files that a file tool is to be used on, as the agent names them: rules apply to
    where they lead. For any other tool, rules apply to `detail`.
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
    """The agent itself reports that it cannot continue; `reason` is one of the closed list.

    `passing` means trouble at its provider, which is not the attempt's fault. One that keeps
    `retrying` in vain must be stopped.
    """

    text: str
    reason: str = "unknown"
    passing: bool = False
    retrying: bool = False


Signal = (
    Started
    | Said
    | Thought
    | Tool
    | Changed
    | Used
    | Filled
    | Window
    | Limited
    | Asks
    | Wants
    | Finished
    | Broke
)
