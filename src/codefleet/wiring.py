"""Address -> store, config -> fleet. The only module that names concrete stores and git."""

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from codefleet import callers, platform
from codefleet.config import Config, fleet_home, last_good, load
from codefleet.domain.access import AgentOf
from codefleet.domain.errors import BadConfig, FleetError
from codefleet.domain.model import Draft, Repo, RunId, Task
from codefleet.fleet import Fleet
from codefleet.fleet.core import Core
from codefleet.ports import Clock, Store, Uptime

if TYPE_CHECKING:
    from codefleet.store.postgres.store import PostgresStore

DATABASE = "fleet.db"


class SystemClock:
    """The time of day of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def system_uptime() -> Uptime:
    """How long this machine has been awake since it was started."""
    return Uptime(platform.machine().boot(), time.monotonic())


class LocalChecks:
    """What this machine can say about a draft; the parts are loaded when they are asked."""

    def refuse_unfit(self, draft: Draft, usual: Mapping[str, Mapping[str, object]]) -> None:
        if draft.coder is not None or draft.fallback:
            from codefleet.coders.capabilities import refuse_unfit

            refuse_unfit(draft, usual)

    async def commit(self, repo: Repo, ref: str) -> str | None:
        from codefleet.runner.git.start_point import commit

        return await commit(repo, ref)

    async def is_on_trunk(self, repo: Repo, commit: str) -> bool:
        from codefleet.runner.git.start_point import is_on_trunk

        return await is_on_trunk(repo, commit)

    async def refuse_foreign_start(self, repo: Repo, commit: str, parent: Task) -> None:
        from codefleet.runner.git.start_point import refuse_foreign_start

        await refuse_foreign_start(repo, commit, parent)


@asynccontextmanager
async def open_fleet(
    home: Path | str | None = None,
    *,
    create: bool = False,
    flags: Mapping[str, object] | None = None,
    clock: Clock | None = None,
    warn: Callable[[str], None] | None = None,
    here: Path | None = None,
) -> AsyncIterator[Fleet]:
    """The fleet of this home, ready for use: `async with open_fleet() as fleet: ...`

    The address of a server (`http://...`) gives the fleet that it serves, with the token in
    FLEET_TOKEN, or one from the home of this machine, which is `here` unless it is the usual one.

    A caller that only reads passes `warn`: it gets a message if the settings file is broken, and
    the last good settings are used. Any other caller is refused.
    """
    if isinstance(home, str) and home.startswith(("http://", "https://")):
        async with _remote(home, here or fleet_home(os.environ)) as there:
            yield there
        return
    home = Path(home) if home else fleet_home(os.environ)
    try:
        config = load(home, env=os.environ, flags=flags)
        last_good.remember(home)
    except BadConfig as wrong:
        if warn is None:
            raise
        config = last_good.load_anyway(home, wrong, os.environ)
        warn(f"{wrong.problem}; using the last good settings ({wrong.hint})")
    store = await open_store(config, home, clock=clock, create=create)
    try:
        yield Fleet(Core(store, config, home, LocalChecks(), await callers.actor(store, home)))
    finally:
        await store.close()


@asynccontextmanager
async def _remote(url: str, home: Path) -> AsyncIterator[Fleet]:
    from codefleet.api.remote import open_remote
    from codefleet.config.settings import DEFAULT
    from codefleet.fleet.logins import for_agent, for_server
    from codefleet.served import own_address

    run, own = await _calling_run(home), own_address(url, home)
    if run and run.startswith(callers.IN_A_FOLDER):
        own = None  # what works in a folder for no run has no token
    access = for_agent(url, home, run, own) if run else for_server(url, home, os.environ, own)
    async with open_remote(access.url, access.token, home, DEFAULT) as fleet:
        yield fleet


async def _calling_run(home: Path) -> RunId | None:
    """The run of this home for whose agent this process works, as when no server is asked."""
    if not (callers.tags() or callers.own_mark()):
        return None
    try:
        async with open_fleet(home) as fleet:
            return fleet.actor.run if isinstance(fleet.actor, AgentOf) else None
    except FleetError:  # there is no fleet here, or nobody can read it
        return callers.below(home)


async def open_store(
    config: Config, home: Path, *, clock: Clock | None = None, create: bool
) -> Store:
    """The store at the configured address; empty means the database file in the home.

    PostgreSQL uses its own clock, because those of the machines that share it may differ.
    """
    address = config.store or f"sqlite://{(home / DATABASE).absolute()}"
    scheme, rest = parts_of(address)
    if scheme == "sqlite":
        from codefleet.store.sqlite.store import SqliteStore

        return SqliteStore.open(
            Path(rest),
            clock=clock or SystemClock(),
            uptime=None if clock else system_uptime,
            durability=config.durability,
            create=create,
        )
    return await _postgres().open(
        address, durability=config.durability, create=create, direct=config.store_direct
    )


def parts_of(address: str) -> tuple[str, str]:
    """The scheme and the rest of a store's address, refused unless we know such a store."""
    scheme, _, rest = address.partition("://")
    if (scheme == "sqlite" and rest.startswith("/")) or scheme in ("postgresql", "postgres"):
        return scheme, rest
    raise BadConfig(
        "store: this is not the address of a store",
        hint="leave it empty, or use sqlite:///PATH or postgresql://USER@HOST/DATABASE",
    )


def _postgres() -> "type[PostgresStore]":
    try:
        from codefleet.store.postgres.store import PostgresStore
    except ImportError as missing:  # also if the driver is there, but not libpq
        if not (missing.name or "psycopg").startswith("psycopg"):
            raise
        raise BadConfig(
            "store: the PostgreSQL driver is not installed",
            hint="install it next to codefleet: pip install 'psycopg[binary]>=3.2'",
        ) from None
    return PostgresStore
