"""The kinds of stores that the contract is run on. To add a kind, add an entry here."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from codefleet.ports import Clock, Store
from codefleet.store.postgres.store import PostgresStore
from codefleet.store.sqlite.store import SqliteStore
from tests import pgbouncer, postgres


class Kind(NamedTuple):
    """How to find a place for a store, how to open it, and why that may be impossible."""

    place: Callable[[Path], str]
    """With or without the tables of a store, whichever is faster."""
    open: Callable[[str, Clock], Store]
    empty: Callable[[Path], str]
    remove: Callable[[str], None] = lambda place: None
    missing: Callable[[], str | None] = lambda: None


def _sqlite(place: str, clock: Clock) -> Store:
    return SqliteStore.open(Path(place), clock=clock)


def _postgres(place: str, clock: Clock) -> Store:
    return PostgresStore(place, clock=clock)


def _in_a_file(folder: Path) -> str:
    return str(folder / "fleet.db")


def _remove(place: str) -> None:
    postgres.shared().remove_copy(place)


KINDS = {
    "sqlite": Kind(place=_in_a_file, open=_sqlite, empty=_in_a_file),
    "postgres": Kind(
        place=lambda folder: postgres.shared().ready(),
        open=_postgres,
        empty=lambda folder: postgres.shared().fresh(),
        remove=_remove,
        missing=postgres.missing,
    ),
    "pgbouncer": Kind(
        place=lambda folder: pgbouncer.ready(),
        open=_postgres,
        empty=lambda folder: pgbouncer.fresh(),
        remove=_remove,
        missing=pgbouncer.missing,
    ),
}
