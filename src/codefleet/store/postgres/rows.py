"""Nouns to rows and back: the body, which is the noun's JSON, and the columns to find it by."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from codefleet.domain import search
from codefleet.domain.model import Event, Run, Task
from codefleet.domain.noun import without_nul, without_nul_in_json
from codefleet.store.events import event_body

Row = dict[str, Any]


def of_task(task: Task) -> Row:
    """The row of a task."""
    return {
        "id": task.id,
        "state": task.state,
        "priority": task.priority,
        "paused": task.paused,
        "approved": task.approved,
        "not_before": task.not_before,
        "resting_since": task.resting_since,
        "repo": task.repo,
        "coder": task.coder,
        "assignee": task.assignee,
        "scoped": bool(task.scope),
        "fence": task.fence,
        "version": task.version,
        "labels": task.labels,
        "needs": task.needs,
        "body": task.json(),
        "parent": task.parent,
        "team": task.team,
        "worker": task.worker,
        "swarm": plain(task.swarm),
    }


def of_text(task: Task) -> Row:
    """The row of a task's words."""
    return {"id": task.id, "mark": search.mark(task), "words": search.kept(task)}


def of_run(run: Run) -> Row:
    """The row of a run."""
    return {
        "id": run.id,
        "task": run.task,
        "outcome": run.outcome,
        "lease_until": run.lease_until,
        "version": run.version,
        "body": run.json(),
    }


def of_event(event: Event) -> Row:
    """The row of an event: the seq is the row's key and not in the body."""
    return {
        "at": event.at,
        "task": event.task,
        "kind": event.kind,
        "body": event_body(event),
    }


def listed(rows: Iterable[Row]) -> str:
    """Rows as one parameter, numbered from 1 in their order."""
    numbered = [{"number": n, **row} for n, row in enumerate(rows, start=1)]
    return without_nul_in_json(msgspec.json.encode(numbered).decode())


def single(row: Row, columns: Iterable[str]) -> Row:
    """One row as parameters, all of them texts: the statement states their types."""
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
    """A value as a statement takes it: NUL is replaced, also in a list."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    return without_nul(value) if isinstance(value, str) else value
