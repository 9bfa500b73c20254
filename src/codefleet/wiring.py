"""Address -> store, config -> fleet. The only module that names concrete stores."""

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from codefleet.callers import caller
from codefleet.config import Config, fleet_home, last_good, load
from codefleet.domain.errors import BadConfig
from codefleet.fleet import Fleet
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
    return Uptime(_boot(), time.monotonic())


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


@asynccontextmanager
async def open_fleet(
    home: Path | None = None,
    *,
    create: bool = False,
    flags: Mapping[str, object] | None = None,
    clock: Clock | None = None,
    warn: Callable[[str], None] | None = None,
) -> AsyncIterator[Fleet]:
    """The fleet of this home, ready for use: `async with open_fleet() as fleet: ...`

    A caller that only reads passes `warn`: it gets a message if the settings file is broken, and
    the last good settings are used. Any other caller is refused.
    """
    home = home or fleet_home(os.environ)
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
        yield Fleet(store, config, home, caller=await caller(store, home))
    finally:
        await store.close()


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
