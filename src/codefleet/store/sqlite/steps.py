"""One `Write`, done inside the open transaction: all of it, or an error that undoes all of it."""

import sqlite3
from collections.abc import Mapping, Sequence

from codefleet.domain.model import Event, Run
from codefleet.domain.noun import Record
from codefleet.ports import Write
from codefleet.store import checks, nouns
from codefleet.store.sqlite import rows, tasks
from codefleet.store.sqlite.database import Database


def write(database: Database, step: Write) -> Sequence[Event]:
    """Do one step and return its events with their seqs."""
    tasks.add(database, [task for task in step.tasks if task.version == 0])
    tasks.save(database, [task for task in step.tasks if task.version > 0], step.fences)
    for run in step.runs:
        put_run(database, run)
    for record in step.records:
        _put(database, record)
    for record in step.removed:
        database.run(f"remove_{nouns.kind_of(type(record)).word}", {"id": nouns.key_of(record)})
    set_all(database, step.settings)
    return append(database, step.events)


def put_run(database: Database, run: Run) -> None:
    """Add or replace one run; a task has at most one live one."""
    statement = "save_run" if run.version else "add_run"
    try:
        if not database.run(statement, rows.of_run(run)).rowcount:
            raise checks.stale("run", run.id)
    except sqlite3.IntegrityError as error:
        raise checks.stale("run", run.id) from error


def append(database: Database, events: Sequence[Event]) -> Sequence[Event]:
    """Add events to the log and return them with their seqs."""
    return [
        event.evolve(seq=database.run("add_event", rows.of_event(event)).lastrowid)
        for event in events
    ]


def forget(database: Database, events: Sequence[Event]) -> int:
    """Remove events of finished tasks from the log and return how many went."""
    return sum(
        database.run("forget_event", {**rows.of_event(event), "seq": event.seq}).rowcount
        for event in events
    )


def set_all(database: Database, settings: Mapping[str, str | None]) -> None:
    """Set each of these, or drop it if it has no value."""
    for name, value in settings.items():
        if value is None:
            database.run("drop_setting", {"name": rows.plain(name)})
        else:
            database.run("set_setting", {"name": rows.plain(name), "value": rows.plain(value)})


def _put(database: Database, record: Record) -> None:
    word = nouns.kind_of(type(record)).word
    row = nouns.row(record)
    verb = "save" if record.version else "add"
    if not database.run(f"{verb}_{word}", row).rowcount:
        raise checks.stale(word, row["id"])
