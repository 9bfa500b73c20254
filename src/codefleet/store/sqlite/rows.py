"""Nouns to rows and back.

A row is its noun's JSON, the body, and the columns that it is searched by. Both are made only here,
from one noun at once, so that they cannot disagree.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from codefleet.domain import search
from codefleet.domain.model import Event, Run, Task
from codefleet.domain.noun import instant, without_nul, without_nul_in_json
from codefleet.store.events import event_body


def of_task(task: Task) -> dict[str, Any]:
    """The row of a task. Plain texts and numbers, because the driver adapts others slowly."""
    return {
        "id": task.id,
        "state": str(task.state),
        "priority": task.priority,
        "paused": int(task.paused),
        "approved": int(task.approved),
        "not_before": instant(task.not_before) if task.not_before else None,
        "resting_since": instant(task.resting_since) if task.resting_since else None,
        "repo": without_nul(task.repo),
        "coder": plain(task.coder),
        "assignee": plain(task.assignee),
        "scoped": int(bool(task.scope)),
        "fence": task.fence,
        "version": task.version,
        "needs": listed(task.needs) if task.needs else "[]",
        "body": task.json(),
        "parent": task.parent,
        "team": plain(task.team),
        "worker": task.worker,
        "swarm": plain(task.swarm),
    }


def of_text(task: Task) -> dict[str, Any]:
    """The row of a task's words."""
    return {"id": task.id, "mark": search.mark(task), "words": search.kept(task)}


def of_texts(tasks: Iterable[Task]) -> str:
    """The words of tasks in one parameter, for `json_each`."""
    return msgspec.json.encode([of_text(task) for task in tasks]).decode()


def task(body: str) -> Task:
    """A task as it was given to the store."""
    return Task.from_json(body)


def of_run(run: Run) -> dict[str, Any]:
    """The row of a run."""
    return {
        "id": run.id,
        "task": run.task,
        "outcome": str(run.outcome) if run.outcome else None,
        "lease_until": instant(run.lease_until),
        "version": run.version,
        "body": run.json(),
    }


def of_event(event: Event) -> dict[str, Any]:
    """The row of an event: the seq is the row's key and not in the body."""
    return {
        "task": event.task,
        "kind": event.kind,
        "body": event_body(event),
    }


def plain(value: object) -> Any:
    """A value as a statement takes it: lists as JSON, times as text, without NUL."""
    if isinstance(value, list):
        return listed(value)
    if isinstance(value, str):
        return without_nul(value)
    return instant(value) if isinstance(value, datetime) else value


def listed(values: Iterable[str]) -> str:
    """A list as one parameter, for `json_each`."""
    return without_nul_in_json(msgspec.json.encode(list(values)).decode())
