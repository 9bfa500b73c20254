"""Export everything as JSON, and import it again."""

import json
import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING

from codefleet.domain.errors import Invalid, Refused
from codefleet.domain.model import Event
from codefleet.store.nouns import event_json
from codefleet.store.sqlite import rows, steps, tasks
from codefleet.store.sqlite.database import Database

if TYPE_CHECKING:
    from codefleet.store.exchange import Nouns


def everything(database: Database) -> Iterator[tuple[str, str]]:
    """Every row as (kind of noun, JSON). Runners, lanes and rests are transient and left out."""
    for (body,) in database.run("repos"):
        yield "repo", body
    for (body,) in database.run("all_tasks"):
        yield "task", body
    for (body,) in database.run_joined(("runs", "oldest_run_first"), {}):
        yield "run", body
    for (body,) in database.run_joined(("questions", "oldest_question_first"), {}):
        yield "question", body
    for (body,) in database.run("conflicts", {"since": ""}):
        yield "conflict", body
    for (body,) in database.run_joined(("messages", "oldest_message_first"), {}):
        yield "message", body
    for (body,) in database.run_joined(("workflows", "oldest_workflow_first"), {}):
        yield "workflow", body
    for name, value in database.run("settings"):
        yield "setting", json.dumps({"name": name, "value": value})
    for seq, body in database.run_joined(("events", "first_events"), {"after": 0, "limit": -1}):
        yield "event", event_json(seq, body)


def load(database: Database, nouns: "Nouns") -> None:
    """Put all nouns into an empty store, inside the open transaction."""
    if database.run("is_used").fetchone()[0]:
        raise Refused(
            "an import needs an empty store",
            hint="`fleet reset` empties this one; `fleet export` saves it first",
        )
    tasks.add(database, nouns["task"])
    for name, value in nouns["setting"]:
        database.run("set_setting", {"name": rows.plain(name), "value": rows.plain(value)})
    try:
        _load_the_rest(database, nouns)
    except sqlite3.IntegrityError as error:
        raise Invalid("the import contains a duplicate", hint=str(error)) from error


def erase(database: Database, event: Event) -> None:
    """Delete everything but this event, which reports it and keeps the seqs rising."""
    steps.append(database, [event])
    database.run_each("erase")


def _load_the_rest(database: Database, nouns: "Nouns") -> None:
    database.run_many("add_run", map(rows.of_run, nouns["run"]))
    for kind in ("question", "conflict", "message", "workflow"):
        database.run_many(
            f"add_{kind}", ({"id": noun.id, "body": noun.json()} for noun in nouns[kind])
        )
    database.run_many(
        "add_repo", ({"id": repo.name, "body": repo.json()} for repo in nouns["repo"])
    )
    given: int = database.run("last_seq").fetchone()[0]
    database.run_many(
        "add_event_at",
        ({**rows.of_event(event), "seq": given + event.seq} for event in nouns["event"]),
    )
