"""One `Write`, done inside the open transaction: all of it, or an error that undoes all of it."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from codefleet.domain.model import (
    Conflict,
    Event,
    Lane,
    Message,
    Question,
    Repo,
    Rest,
    Run,
    Runner,
    Workflow,
)
from codefleet.ports import Write
from codefleet.store import checks
from codefleet.store.sqlite import rows, tasks
from codefleet.store.sqlite.database import Database

Other = Question | Conflict | Repo | Runner | Lane | Message | Rest | Workflow


class _Kind(NamedTuple):
    """How the small nouns are written: the field of the step, the noun's word, and its key."""

    field: str
    word: str
    key: Callable[[Any], str]


_OTHERS = (
    _Kind("questions", "question", lambda question: question.id),
    _Kind("conflicts", "conflict", lambda conflict: conflict.id),
    _Kind("repos", "repo", lambda repo: repo.name),
    _Kind("runners", "runner", lambda runner: runner.id),
    _Kind("lanes", "lane", lambda lane: lane.repo),
    _Kind("messages", "message", lambda message: message.id),
    _Kind("rests", "rest", lambda rest: rest.account),
    _Kind("workflows", "workflow", lambda workflow: workflow.id),
)


def write(database: Database, step: Write) -> Sequence[Event]:
    """Do one step and return its events with their seqs."""
    tasks.add(database, [task for task in step.tasks if task.version == 0])
    tasks.save(database, [task for task in step.tasks if task.version > 0], step.fences)
    for run in step.runs:
        put_run(database, run)
    for kind in _OTHERS:
        for noun in getattr(step, kind.field):
            _put(database, kind, noun)
    _set(database, step.settings)
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


def _put(database: Database, kind: _Kind, noun: Other) -> None:
    verb = "save" if noun.version else "add"
    values = {"id": kind.key(noun), "version": noun.version, "body": noun.json()}
    if not database.run(f"{verb}_{kind.word}", values).rowcount:
        raise checks.stale(kind.word, kind.key(noun))


def _set(database: Database, settings: Mapping[str, str | None]) -> None:
    for name, value in settings.items():
        if value is None:
            database.run("drop_setting", {"name": rows.plain(name)})
        else:
            database.run("set_setting", {"name": rows.plain(name), "value": rows.plain(value)})
