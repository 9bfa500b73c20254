"""Address -> store, config -> fleet. The only module that names concrete stores."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from codefleet.config import Config, fleet_home, load
from codefleet.domain.errors import BadConfig
from codefleet.fleet import Fleet
from codefleet.ports import Clock, Store

if TYPE_CHECKING:
    from codefleet.store.postgres.store import PostgresStore

DATABASE = "fleet.db"


class SystemClock:
    """The time of day of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@asynccontextmanager
async def open_fleet(
    home: Path | None = None,
    *,
    repo: Path | None = None,
    create: bool = False,
    flags: Mapping[str, object] | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Fleet]:
    """The fleet of this home, ready for use: `async with open_fleet() as fleet: ...`"""
    home = home or fleet_home(os.environ)
    config = load(home, repo=repo, env=os.environ, flags=flags)
    store = await open_store(config, home, clock=clock or SystemClock(), create=create)
    try:
        yield Fleet(store, config, home)
    finally:
        await store.close()


async def open_store(config: Config, home: Path, *, clock: Clock, create: bool) -> Store:
    """The store at the configured address; empty means the database file in the home.

    PostgreSQL goes by its own clock, because the machines that share it may differ.
    """
    address = config.store or f"sqlite://{(home / DATABASE).absolute()}"
    scheme, _, rest = address.partition("://")
    if scheme == "sqlite" and rest.startswith("/"):
        from codefleet.store.sqlite.store import SqliteStore

        path = Path(rest)
        return SqliteStore.open(path, clock=clock, durability=config.durability, create=create)
    if scheme in ("postgresql", "postgres"):
        return await _postgres().open(
            address, durability=config.durability, create=create, direct=config.store_direct
        )
    raise BadConfig(
        "store: this is not an address of a store",
        hint="leave it empty, or say sqlite:///PATH or postgresql://USER@HOST/DATABASE",
    )


def _postgres() -> "type[PostgresStore]":
    try:
        from codefleet.store.postgres.store import PostgresStore
    except ImportError as missing:  # also where there is the driver, but no libpq
        if not (missing.name or "psycopg").startswith("psycopg"):
            raise
        raise BadConfig(
            "store: the driver for PostgreSQL is not installed",
            hint="install it beside codefleet: pip install 'psycopg[binary]>=3.2'",
        ) from None
    return PostgresStore
