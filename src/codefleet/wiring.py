"""Address -> store, config -> fleet. The only module that names concrete stores."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from codefleet.config import Config, fleet_home, load
from codefleet.domain.errors import BadConfig
from codefleet.fleet import Fleet
from codefleet.ports import Clock, Store

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
    """The store at the configured address; empty means the database file in the home."""
    path = _sqlite_path(config.store, home)
    if path is None:
        raise BadConfig(
            f"store: {config.store!r} is not an address of a store",
            hint="leave it empty, or say sqlite:///PATH",
        )
    from codefleet.store.sqlite.store import SqliteStore

    return SqliteStore.open(path, clock=clock, durability=config.durability, create=create)


def _sqlite_path(address: str, home: Path) -> Path | None:
    if not address:
        return home / DATABASE
    scheme, separator, rest = address.partition("://")
    return Path(rest) if separator and scheme == "sqlite" and rest.startswith("/") else None
