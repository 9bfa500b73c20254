"""Assignments for coders, with only what a test cares about spelled out."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from codefleet.coder import Assignment, Endpoint
from codefleet.domain.model import Run, RunId, RunnerId, Task, TaskId

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def assignment(
    home: Path,
    prompt: str = "Do it",
    *,
    number: int = 1,
    model: str | None = None,
    resume: str | None = None,
    options: dict[str, object] | None = None,
    tools: Sequence[str] = (),
    endpoint: Endpoint | None = None,
) -> Assignment:
    """A run of task `t1` whose folder is in `home/runs` and whose worktree is `home/work`."""
    task = Task(id=TaskId("t1"), title="A task", repo="shop", created_at=NOW, updated_at=NOW)
    run = Run(
        id=RunId(f"t1.{number}"),
        task=task.id,
        number=number,
        agent="a-1",
        runner=RunnerId("r"),
        host="here",
        fence=number,
        lease_until=NOW,
        coder="any",
        model=model,
        started_at=NOW,
    )
    return Assignment(
        run=run,
        task=task,
        prompt=prompt,
        prompt_file=home / "runs" / run.id / "prompt.md",
        worktree=home / "work",
        options=options or {},
        resume=resume,
        tools=tools,
        endpoint=endpoint,
    )
