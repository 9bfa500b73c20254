"""Questions of agents: which are open, which a task has, and how long one waited.

Agents ask them in `codefleet.fleet.own_run`; humans answer them in `codefleet.fleet.inbox`.
"""

from collections.abc import Sequence
from datetime import datetime

from codefleet.domain.model import Question, TaskId
from codefleet.domain.words import State
from codefleet.ports import Store, TaskQuery

WAITING = (State.PENDING, State.RUNNING, State.ASKING)
"""The states in which a task can still use an answer."""


async def still_open(store: Store) -> Sequence[Question]:
    """The unanswered questions, oldest first, except those of tasks that are over."""
    asked = await store.records(Question, open_only=True)
    ids = [question.task for question in asked]
    tasks = await store.tasks(TaskQuery(ids=ids, states=WAITING)) if ids else ()
    waiting = {task.id for task in tasks}
    return [question for question in asked if question.task in waiting]


async def are_open(store: Store, task: TaskId) -> bool:
    """Does an agent of this task wait for an answer?"""
    return bool(await store.records(Question, tasks=[task], open_only=True))


async def of_task(store: Store, task: TaskId) -> Sequence[Question]:
    """All questions of this task's agents, answered or not."""
    return await store.records(Question, tasks=[task])


def span(question: Question) -> tuple[datetime, datetime | None]:
    """The time that it waited, by the steady clock; by the time of day if that was not recorded."""
    if question.asked_steady is None:
        return question.asked_at, question.answered_at
    return question.asked_steady, question.answered_steady
