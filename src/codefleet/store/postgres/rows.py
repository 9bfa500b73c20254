"""Nouns to rows and back: the body, which is the noun's JSON, and the columns it is found by."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from codefleet.domain import search
from codefleet.domain.model import Event, Run, Task
from codefleet.domain.noun import Noun
from codefleet.store.nouns import event_body

Row = dict[str, Any]

_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def of_task(task: Task) -> Row:
    """A task as its row keeps it."""
    return {
        "id": task.id,
        "state": task.state,
        "priority": task.priority,
        "paused": task.paused,
        "approved": task.approved,
        "not_before": task.not_before,
        "repo": task.repo,
        "coder": task.coder,
        "assignee": task.assignee,
        "scoped": bool(task.scope),
        "fence": task.fence,
        "version": task.version,
        "labels": task.labels,
        "needs": task.needs,
        "body": body(task),
    }


def of_text(task: Task) -> Row:
    """The words of a task as their row keeps them."""
    return {"id": task.id, "mark": search.mark(task), "words": search.kept(task)}


def of_run(run: Run) -> Row:
    """A run as its row keeps it."""
    return {
        "id": run.id,
        "task": run.task,
        "outcome": run.outcome,
        "lease_until": run.lease_until,
        "version": run.version,
        "body": body(run),
    }


def of_event(event: Event) -> Row:
    """An event as its row keeps it: the seq is the row's key and not in the body."""
    return {
        "at": event.at,
        "task": event.task,
        "kind": event.kind,
        "body": _storable(event_body(event)),
    }


def body(noun: Noun) -> str:
    """A noun as its row keeps it."""
    return _storable(noun.json())


def listed(rows: Iterable[Row]) -> str:
    """Rows as one parameter, numbered from 1 in their order."""
    numbered = [{"number": n, **row} for n, row in enumerate(rows, start=1)]
    return _storable(msgspec.json.encode(numbered).decode())


def single(row: Row, columns: Iterable[str]) -> Row:
    """One row as parameters, texts all of them: their types are said by the statement."""
    return {name: _said(row.get(name)) for name in columns} | {"number": "1"}


def _said(value: Any) -> Any:
    match value:
        case None:
            return None
        case str():
            return plain(str(value))
        case tuple():
            return list(value)
        case datetime():
            return value.isoformat()
        case _:
            return str(value)


def plain(value: Any) -> Any:
    """A value as a statement takes it: with what stands in for NUL, also in a list."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def _storable(text: str) -> str:
    """PostgreSQL's JSON knows no NUL; the sign for what cannot be shown stands in for it."""
    return _NUL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text
