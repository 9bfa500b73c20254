"""What follows a failed attempt: another one, by the settings, or the end of the task."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from codefleet.config import Config
from codefleet.domain.events import event
from codefleet.domain.model import Event, Task
from codefleet.domain.retries import RetryPolicy
from codefleet.domain.words import State


def retry_policy(settings: Config) -> RetryPolicy:
    """How often a task is tried, and how long it rests in between."""
    return RetryPolicy(
        limit=settings.attempts,
        first_rest=timedelta(seconds=settings.rest_s),
        longest_rest=timedelta(seconds=settings.longest_rest_s),
    )


def end_of(task: Task, now: datetime) -> Sequence[Event]:
    """The event for the end of a task after a failure, if it has ended."""
    if task.state is State.FAILED:
        return [event("task.failed", now, task.note, task=task, reason=task.reason)]
    if task.state is State.COMPLETED:
        note = f"failed, but its workflow continues: {task.note}"
        return [event("task.completed", now, note, task=task, reason=task.reason)]
    return []
