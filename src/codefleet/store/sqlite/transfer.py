"""Export everything as JSON, and import it again."""

import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING

from codefleet.domain.errors import Invalid, Refused
from codefleet.domain.model import Event
from codefleet.store.nouns import RECORDS, leaving, row
from codefleet.store.sqlite import rows, steps, tasks
from codefleet.store.sqlite.database import Database

if TYPE_CHECKING:
    from codefleet.store.export import Nouns

_ALL = {"after": 0, "limit": -1}


def everything(database: Database, *, moving: bool = False) -> Iterator[tuple[str, str]]:
    """Every row as (kind of noun, JSON), of what is exported or, if `moving`, of what moves."""
    for kind in leaving(moving=moving):
        as_json = kind.as_json
        for found in database.run_joined(kind.listing, _ALL):
            yield kind.word, as_json(*found)


def load(database: Database, nouns: "Nouns") -> None:
    """Put all nouns into an empty store, inside the open transaction."""
    if database.run("is_used").fetchone()[0]:
        raise Refused(
            "an import needs an empty store",
            hint="`fleet reset` empties this one; `fleet export` saves it first",
        )
    tasks.add(database, nouns["task"])
    steps.set_all(database, {setting.name: setting.value for setting in nouns["setting"]})
    try:
        _load_the_rest(database, nouns)
    except sqlite3.IntegrityError as error:
        raise Invalid("the import contains a duplicate", hint=str(error)) from error


def erase(database: Database, event: Event) -> None:
    """Delete everything but this event, which reports it and keeps the seqs rising."""
    steps.append(database, [event])
    database.run_each("erase")
    for kind in RECORDS:
        database.run(f"erase_{kind.table}")


def _load_the_rest(database: Database, nouns: "Nouns") -> None:
    database.run_many("add_run", map(rows.of_run, nouns["run"]))
    for kind in RECORDS:
        database.run_many(f"add_{kind.word}", map(row, nouns.get(kind.word, ())))
    given: int = database.run("last_seq").fetchone()[0]
    database.run_many(
        "add_event_at",
        ({**rows.of_event(event), "seq": given + event.seq} for event in nouns["event"]),
    )
