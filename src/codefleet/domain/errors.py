"""Everything that can go wrong, as one tree. Every door shows the same three things:

FleetError            code, a sentence that states the problem, a hint that says what to do
├── Invalid           the input is wrong                   exit 2   HTTP 422
│   ├── Cycle         tasks that would wait for each other
│   ├── Duplicate     the name is taken                             HTTP 409
│   └── BadConfig     a setting that cannot be used
├── NotFound          there is no such thing               exit 3   HTTP 404
├── Refused           valid, but not possible now          exit 4   HTTP 409
│   ├── IllegalMove   the task is not in a state for that
│   ├── Stale         someone else was first; your lease, fence or version is outdated
│   │   └── Outdated  it is no longer as you have seen it           HTTP 412
│   ├── AlreadyDone   this very request was made before
│   ├── Forbidden     you may not do that                           HTTP 403
│   ├── Unauthenticated  your token is missing or not valid         HTTP 401
│   └── TooManyGuesses   wait before you try another secret         HTTP 429
├── StoreTrouble      the store cannot be used             exit 5   HTTP 503
│   └── StoreGone     its file was deleted or replaced
├── WorkspaceTrouble  git, a folder or a program failed      exit 6   HTTP 500
└── Unreachable       a remote does not answer             exit 7   HTTP 503

Nothing went wrong, but what is left needs a human: exit 8.
"""

from collections.abc import Sequence
from typing import ClassVar

NEEDS_HUMAN = 8
"""The exit code of a command that did all it could without a human."""


class FleetError(Exception):
    """Something the user can understand and act on."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, problem: str, *, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint

    def as_dict(self) -> dict[str, str]:
        return {"code": self.code, "problem": self.problem, "hint": self.hint}


class Invalid(FleetError):
    """The input is wrong."""

    code = "invalid"
    status = 422
    exit_code = 2


class Cycle(Invalid):
    """Tasks that would wait for each other forever."""

    code = "cycle"


class Duplicate(Invalid):
    """The name is taken."""

    code = "duplicate"
    status = 409


class BadConfig(Invalid):
    """A setting that cannot be used."""

    code = "bad_config"


class NotFound(FleetError):
    """There is no such thing."""

    code = "not_found"
    status = 404
    exit_code = 3


class Refused(FleetError):
    """The request is valid, but not possible now."""

    code = "refused"
    status = 409
    exit_code = 4


class IllegalMove(Refused):
    """The task is not in a state for that."""

    code = "illegal_move"


class Stale(Refused):
    """Someone else was first: the lease, fence or version of this write is outdated."""

    code = "stale"


class Outdated(Stale):
    """It has changed since the caller read it."""

    code = "outdated"
    status = 412


class Forbidden(Refused):
    """Whoever asks may not do that."""

    code = "forbidden"
    status = 403


class Unauthenticated(Refused):
    """There is no token, or none that is valid."""

    code = "unauthenticated"
    status = 401


class TooManyGuesses(Refused):
    """There were too many wrong secrets: even the right one has to wait so many `seconds`."""

    code = "too_many_requests"
    status = 429

    def __init__(self, problem: str, seconds: int) -> None:
        super().__init__(problem, hint=f"try again in {seconds} seconds")
        self.seconds = seconds


class AlreadyDone(Refused):
    """The same request was made before; `made` names what it created."""

    code = "already_done"

    def __init__(self, made: Sequence[str]) -> None:
        super().__init__("this request was made before", hint="read what it created")
        self.made = made


class LostRun(Stale):
    """The run no longer holds its task; retrying cannot help."""

    code = "lost_run"


class StoreTrouble(FleetError):
    """The store cannot be used."""

    code = "store"
    status = 503
    exit_code = 5


class StoreGone(StoreTrouble):
    """The store's file was deleted or replaced while it was open; retrying cannot help."""

    code = "store_gone"


class WorkspaceTrouble(FleetError):
    """Git, a folder or a program failed."""

    code = "workspace"
    exit_code = 6


class Unreachable(FleetError):
    """A repo's remote does not answer, or its trunk is missing; that may change."""

    code = "unreachable"
    status = 503
    exit_code = 7
