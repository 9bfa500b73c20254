"""What every toolset shares: the fleet, its home, and who is calling."""

import asyncio
import os
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from codefleet.domain.errors import Invalid, NotFound, Refused
from codefleet.domain.model import Repo, Run
from codefleet.domain.secrets import redact
from codefleet.fleet import Fleet
from codefleet.fleet.tokens import run_named_in
from codefleet.runner import background, custody
from codefleet.runner.desk import Desk
from codefleet.runner.repos.repository import find, known_repo

LONGEST_TAIL = 256 * 1024

T = TypeVar("T")
View = dict[str, Any]
"""A JSON object, as a tool returns it."""


class House:
    """One fleet as a server sees it. A `token` binds every call to one run."""

    def __init__(self, fleet: Fleet, token: str | None = None) -> None:
        self._token = token
        self.fleet = fleet if token is None else fleet.acting_for(run_named_in(token))
        self.desk = Desk(self.fleet)

    async def caller(self) -> Run | None:
        """The calling run; None if the caller is not an agent of this fleet."""
        if self._token is not None:
            return await self.fleet.run_of(self._token)
        return await self.fleet.asking() if self.fleet.caller else None

    async def own_run(self) -> Run:
        """The calling run, for tools that only an agent of this fleet can use."""
        run = await self.caller()
        if run is None:
            raise Refused(
                "this server is not bound to a run",
                hint="these tools are for agents of the fleet, which get them automatically",
            )
        return run

    async def staff(self) -> None:
        """Make sure that a runner works the queue; a caller within a run already has one."""
        if self.fleet.caller is None:
            await background.ensure(self.fleet)

    async def repo(self, path: str | None) -> Repo:
        """The repository at this path, else the server's current one, else the only one.

        An agent of the fleet has only its own.
        """
        if caller := await self.caller():
            return await self._own_repo(caller, path)
        if path is not None:
            return await known_repo(self.fleet, _folder(path))
        try:
            return await known_repo(self.fleet, Path.cwd())
        except (Invalid, NotFound):
            known = await self.fleet.repos()
        if len(known) != 1:
            raise Invalid("which repository?", hint="give repo_path, the path of a git repository")
        return known[0]

    async def _own_repo(self, caller: Run, path: str | None) -> Repo:
        own = await self.fleet.repo((await self.fleet.get(caller.task)).repo)
        if path is not None and str(await find(_folder(path))) != own.path:
            raise Refused(
                f"an agent at work in {own.name} may create tasks only there",
                hint="leave out repo_path",
            )
        return own

    async def end_of_log(self, run: Run, name: str, lines: int) -> str:
        """The last lines an agent printed, redacted: until it ends, its keys are in the file."""
        await self.fleet.permit_reading(run.task)
        repo = await self.desk.repo((await self.fleet.get(run.task)).repo)
        text = await asyncio.to_thread(_tail, self.desk.places.run(run) / name, lines)
        return redact(text, [*custody.secrets(self.desk.settings(repo))])


def _tail(file: Path, lines: int) -> str:
    """The last lines of a file, read from its end."""
    try:
        with file.open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - LONGEST_TAIL))
            end = log.read(LONGEST_TAIL)
    except FileNotFoundError:
        return ""
    return "\n".join(end.decode(errors="replace").splitlines()[-lines:])


class Toolset:
    """Tools that belong together: the methods named here, described by their docstrings."""

    READS: ClassVar[tuple[str, ...]] = ()
    WRITES: ClassVar[tuple[str, ...]] = ()

    def __init__(self, house: House) -> None:
        self.house, self.fleet = house, house.fleet


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
