"""Nouns for tests: every field has a plain default."""

from datetime import UTC, datetime
from typing import Any

from codefleet.domain.model import Run, RunId, RunnerId, Task, TaskId
from codefleet.domain.validation import checked

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_task(id: str = "t1", **fields: Any) -> Task:
    plain = {"title": f"Task {id}", "repo": "app", "created_at": NOON, "updated_at": NOON}
    return checked(Task, {"id": TaskId(id), **plain, **fields})


def a_run(task: Task, **fields: Any) -> Run:
    plain = {
        "id": RunId(f"{task.id}.1"),
        "task": task.id,
        "number": 1,
        "agent": "scripted-1",
        "runner": RunnerId("r1"),
        "host": "here",
        "fence": task.fence,
        "lease_until": NOON,
        "coder": "scripted",
        "started_at": NOON,
    }
    return checked(Run, {**plain, **fields})
