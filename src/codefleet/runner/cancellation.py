"""What was asked of agents at work: cancel, pause, read a message."""

from collections.abc import Collection

from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import TaskQuery
from codefleet.runner.run.attempt import Attempt
from codefleet.runner.stop import Cause


async def stop_or_notify(fleet: Fleet, attempts: Collection[Attempt]) -> None:
    """Stop agents whose tasks were cancelled or paused, and announce new messages."""
    held = {attempt.task.id: attempt for attempt in attempts}
    if not held:
        return
    waiting = await Dispatch(fleet).unread()
    for task in await fleet.list(TaskQuery(ids=list(held))):
        attempt = held[task.id]
        if task.fence != attempt.run.fence and task.state is State.CANCELLED:
            attempt.stop(Cause.CANCELLED, "the task was cancelled")
        elif task.paused and task.fence == attempt.run.fence:
            attempt.stop(Cause.PAUSED, "the task was paused")
        if any(message.is_for(attempt.run, task) for message in waiting):
            attempt.notify_message()
