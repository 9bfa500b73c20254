"""What every toolset shares: the fleet, its home, and who is calling."""

import os
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from codefleet.domain.access import HUMAN, AgentOf
from codefleet.domain.drafting import read_all
from codefleet.domain.errors import Invalid, NotFound
from codefleet.domain.model import Draft, Task
from codefleet.doors import team_tasks
from codefleet.doors.mcp import summaries
from codefleet.doors.mcp.summaries import View
from codefleet.fleet import Fleet
from codefleet.runner import background
from codefleet.runner.context import Context
from codefleet.runner.repos import known_repo

T = TypeVar("T")
AGENT_NAME = "CLAUDE_CODE_AGENT_NAME"


class ServerContext:
    """One fleet as a server sees it; the fleet knows for whom every call is."""

    def __init__(self, fleet: Fleet, caller: ContextVar[Fleet] | None = None) -> None:
        """With a `caller`, each call is for whoever that says, and refused if it says nobody."""
        self.home = fleet.home
        self._fleet, self._caller = fleet, caller

    @property
    def fleet(self) -> Fleet:
        """The fleet for whoever is calling."""
        return self._caller.get() if self._caller else self._fleet

    @property
    def context(self) -> Context:
        """The settings as they are now, for whoever is calling."""
        return Context(self.fleet)

    @property
    def handle(self) -> str | None:
        """The handle that a local client speaks under; all others speak under their own."""
        return os.environ.get(AGENT_NAME) or None if self.fleet.actor == HUMAN else None

    async def ensure_runner(self) -> None:
        """Make sure that a runner works the queue of a local client; an agent already has one.

        Whether a server runs agents is decided by whoever starts it, not by those who call it.
        """
        if not self._caller and not isinstance(self.fleet.actor, AgentOf):
            await background.ensure_runner(self.fleet)

    async def repo(self, path: str | None) -> str | None:
        """The name of the repository at this path, else of a local client's current one.

        None if there is none: the core knows the only one of the fleet, and that of an agent. One
        of several must be named.
        Where a server was started means nothing to those who call it over a network.
        """
        if path is not None:
            return (await known_repo(self.fleet, _folder(path))).name
        if isinstance(self.fleet.actor, AgentOf):
            return None
        if not self._caller:
            with suppress(Invalid, NotFound):
                return (await known_repo(self.fleet, Path.cwd())).name
        known = [repo.path for repo in await self.fleet.repos()]
        if len(known) > 1:
            raise Invalid("which repository?", hint=f"give repo_path: {', '.join(known)}")
        return None

    async def drafts(self, tasks: list[dict[str, Any]], path: str | None) -> list[Draft]:
        """The drafts that a caller describes, for the repository at this path."""
        repo = await self.repo(path)
        placed = [{**each, "repo": repo} if isinstance(each, dict) else each for each in tasks]
        return read_all(placed, await self.fleet.now())


class Toolset:
    """Tools that belong together: the methods named here, described by their docstrings."""

    READS: ClassVar[tuple[str, ...]] = ()
    WRITES: ClassVar[tuple[str, ...]] = ()

    def __init__(self, context: ServerContext) -> None:
        self.server = context

    @property
    def fleet(self) -> Fleet:
        """The fleet for whoever is calling."""
        return self.server.fleet

    async def own_handle(self) -> str:
        """The handle of the caller."""
        return self.server.handle or await self.fleet.own_handle()

    async def assigned(
        self, agent: str, task: str, description: str | None, path: str | None
    ) -> View:
        """Give work to whoever has a handle: told now if at work, else put to work."""
        repo = await self.server.repo(path)
        return await self.moved(
            await team_tasks.assign(self.fleet, agent, task, description, repo=repo)
        )

    async def moved(self, task: Task) -> View:
        """A task that may go on now, with somebody to work on it."""
        await self.server.ensure_runner()
        return summaries.task(task)


def one_of(**given: str | None) -> str:
    """The value of an argument that has several names."""
    said = [value for value in given.values() if value is not None]
    if len(said) != 1:
        raise Invalid(f"give one of {', '.join(given)}", hint="they mean the same")
    return said[0]


def page(items: list[T], limit: int, cursor: str | None) -> tuple[list[T], str | None]:
    """The items of one page, and where the next one begins, if there is one."""
    start = position(cursor)
    more = len(items) > start + limit
    return items[start : start + limit], str(start + limit) if more else None


def position(cursor: str | None) -> int:
    """The position that a cursor stands for."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise Invalid("this cursor is not valid", hint="pass next_cursor unchanged")
    return int(cursor)


def _folder(path: str) -> Path:
    if "\0" in path or len(path) > os.pathconf("/", "PC_PATH_MAX"):
        raise Invalid("this is not a path", hint="give the path of a git repository")
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError:  # ~somebody, unknown on this machine
        raise NotFound(f"there is no folder {path}", hint="give a full path") from None
