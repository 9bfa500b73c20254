"""A team's tasks as team servers see them: given to a handle, and moved by naming a status."""

from typing import Any, Literal

from codefleet.api import verbs
from codefleet.domain.access import Right
from codefleet.domain.errors import Duplicate, Refused
from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet

Status = Literal["pending", "in_progress", "completed", "blocked"]
TITLE = 80
PRIORITY = 3


async def assign(
    fleet: Fleet, handle: str, subject: str, description: str | None = None, **fields: Any
) -> Task:
    """Give work to whoever has a handle: told now if at work, else put to work.

    `fields` are those of a new task. Work that needs other tasks cannot be told to an agent.
    """
    prompt = f"{subject}\n\n{description}" if description else subject
    usual = {"title": subject[:TITLE], "priority": PRIORITY}
    try:
        return await fleet.spawn(handle, prompt, **{**usual, **fields})
    except Duplicate:
        if fields.get("needs"):
            raise
        worker = await fleet.worker(handle, fields.get("team"))
        await fleet.send(worker.task, prompt)
        return await fleet.get(worker.task)


async def move(fleet: Fleet, ref: str, status: Status) -> Task:
    """Bring a task to a status: `pending` or `in_progress` opens it again, `blocked` pauses it."""
    if status == "completed":
        return await complete(fleet, ref)
    task = await fleet.get(ref)
    if status == "blocked":
        return await fleet.pause(task.id) or task
    await fleet.permit(Right.RETRY, task)
    if task.paused:
        return await fleet.resume(task.id) or task
    if task.state in (State.FAILED, State.CANCELLED):
        return await fleet.retry(task.id)
    return task


async def complete(fleet: Fleet, ref: str) -> Task:
    """Land the work of a task that waits for a review; nobody else's word completes a task."""
    task = await fleet.get(ref)
    if task.state is State.REVIEW:
        return await verbs.land(fleet, task.id)
    if task.state is not State.COMPLETED:
        raise Refused(
            f"{task.id} is {task.state}: the fleet completes it when git and the checks agree",
            hint="end your turn when your work is done; `cancel` drops a task",
        )
    return task
