"""`/tasks`: the tasks of a team, each given to a handle."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from codefleet.domain.model import Task, TaskId
from codefleet.domain.noun import Instant, Noun
from codefleet.domain.team import uid
from codefleet.domain.words import State
from codefleet.doors import team_tasks
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery

MOST_LISTED = 1000
Subject = Annotated[str, Meta(min_length=1, max_length=200)]
Description = Annotated[str, Meta(max_length=100_000)]


class TaskStatus(StrEnum):
    """How a task stands, in claude-fleet's words."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    RESOLVED = "resolved"
    BLOCKED = "blocked"


MOVES: Mapping[TaskStatus, team_tasks.Status] = {
    TaskStatus.OPEN: "pending",
    TaskStatus.IN_PROGRESS: "in_progress",
    TaskStatus.RESOLVED: "completed",
    TaskStatus.BLOCKED: "blocked",
}
STATUS: Mapping[State, TaskStatus] = {
    State.PENDING: TaskStatus.OPEN,
    State.RUNNING: TaskStatus.IN_PROGRESS,
    State.ASKING: TaskStatus.BLOCKED,
    State.REVIEW: TaskStatus.IN_PROGRESS,
    State.COMPLETED: TaskStatus.RESOLVED,
    State.FAILED: TaskStatus.BLOCKED,
    State.CANCELLED: TaskStatus.BLOCKED,
}


class TeamTask(Noun, rename="camel"):
    """A task of a team; `state` is its state in the fleet's own words.

    `createdByHandle` is null if it was added too long ago for a list to tell.
    """

    id: TaskId
    team_name: str | None
    subject: str
    description: str | None
    owner_handle: str | None
    owner_uid: str | None
    created_by_handle: str | None
    created_by_uid: str | None
    status: TaskStatus
    state: State
    blocked_by: Sequence[str]
    created_at: Instant
    updated_at: Instant


async def team_tasks_of(fleet: Fleet, team: str) -> Sequence[TeamTask]:
    """The newest tasks of a team, finished ones too."""
    await fleet.team(team)
    query = TaskQuery(team=team, newest_first=True, limit=MOST_LISTED)
    return await _views(fleet, await fleet.list(query))


async def create_task(
    fleet: Fleet,
    to_handle: str,
    subject: Subject,
    team_name: str | None = None,
    description: Description | None = None,
    blocked_by: Sequence[str] = (),
    from_uid: str | None = None,
) -> TeamTask:
    """Give work to a handle: an agent at work under it is told, otherwise one is put to work.

    The token says who asks.
    """
    fields = {"title": subject, "team": team_name, "needs": list(blocked_by)}
    return await _view(
        fleet, await team_tasks.assign(fleet, to_handle, subject, description, **fields)
    )


async def created_task(fleet: Fleet, made: Sequence[str]) -> TeamTask:
    """The task that a request created, or that of the agent whom it told."""
    found = await fleet.list(TaskQuery(ids=[TaskId(made[0])]))
    task = found[0] if found else await fleet.get(str((await fleet.message(made[0])).task))
    return await _view(fleet, task)


async def get_task(fleet: Fleet, ref: str) -> TeamTask:
    """A task by its id."""
    return await _view(fleet, await fleet.get(ref))


async def update_task(fleet: Fleet, ref: str, status: TaskStatus) -> TeamTask:
    """Open a task again, pause it (`blocked`), or land the work that waits for it (`resolved`)."""
    return await _view(fleet, await team_tasks.move(fleet, ref, MOVES[status]))


async def _view(fleet: Fleet, task: Task) -> TeamTask:
    return (await _views(fleet, [task]))[0]


async def _views(fleet: Fleet, tasks: Sequence[Task]) -> Sequence[TeamTask]:
    needs = {TaskId(need) for task in tasks for need in task.needs}
    needed = await fleet.list(TaskQuery(ids=sorted(needs))) if needs else ()
    unmet = {task.id for task in needed if task.state is not State.COMPLETED}
    creators = await _creators(fleet, tasks)
    return [_written(task, unmet, creators.get(task.id)) for task in tasks]


async def _creators(fleet: Fleet, tasks: Sequence[Task]) -> Mapping[TaskId, str]:
    """Who added each task, as far as the newest events tell."""
    only = tasks[0].id if len(tasks) == 1 else None
    added = await fleet.events(task=only, kinds=["task.added"], newest=True)
    return {each.task: each.by for each in added if each.task and each.by}


def _written(task: Task, unmet: set[TaskId], by: str | None) -> TeamTask:
    waits = task.state is State.PENDING and (task.paused or bool(unmet & {*task.needs}))
    maker = by.partition("@")[0] if by else None
    return TeamTask(
        id=task.id,
        team_name=task.team,
        subject=task.title,
        description=task.prompt.removeprefix(task.title).strip() or None,
        owner_handle=task.handle,
        owner_uid=uid(task.team or "", task.handle) if task.handle else None,
        created_by_handle=maker,
        created_by_uid=uid(task.team or "", maker) if maker else None,
        status=TaskStatus.BLOCKED if waits else STATUS[task.state],
        state=task.state,
        blocked_by=task.needs,
        created_at=task.created_at,
        updated_at=task.updated_at,
    )
