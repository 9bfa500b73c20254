"""The kinds of stores that the contract is run on. To add a kind, add an entry here."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from codefleet.ports import Clock, Store
from codefleet.store.postgres.store import PostgresStore
from codefleet.store.sqlite.store import SqliteStore
from tests import pgbouncer, postgres


class Kind(NamedTuple):
    """How to find a fresh place for a store, how to open it, and why that may be impossible."""

    place: Callable[[Path], str]
    open: Callable[[str, Clock], Store]
    missing: Callable[[], str | None] = lambda: None


def _sqlite(place: str, clock: Clock) -> Store:
    return SqliteStore.open(Path(place), clock=clock)


def _postgres(place: str, clock: Clock) -> Store:
    return PostgresStore(place, clock=clock)


KINDS = {
    "sqlite": Kind(place=lambda folder: str(folder / "fleet.db"), open=_sqlite),
    "postgres": Kind(
        place=lambda folder: postgres.shared().fresh(), open=_postgres, missing=postgres.missing
    ),
    "pgbouncer": Kind(
        place=lambda folder: pgbouncer.fresh(), open=_postgres, missing=pgbouncer.missing
    ),
}
