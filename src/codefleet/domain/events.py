"""The kinds of events, each with the sentence that explains it, and how one is written down."""

from datetime import datetime
from typing import Any

from codefleet.domain.model import Event, Run, Task

KINDS = {
    "task.added": "a task joined the queue",
    "task.edited": "somebody changed a task's fields",
    "task.paused": "a human holds the task back",
    "task.resumed": "the task may start again",
    "task.asked": "the agent needs an answer; the question is in the inbox",
    "task.answered": "a human answered; the task goes on",
    "task.submitted": "the work is on its branch with its evidence and waits to land",
    "task.approved": "a human wants this work on the trunk",
    "task.unapproved": "the work changed after it was approved; the text shows how",
    "task.waits": "the landing waits for something outside the fleet; the text says what",
    "task.rejected": "a human sent the work back, with the reason",
    "task.bounced": "the work could not land and goes back to an agent, with the reason",
    "task.completed": "the task is done; `landed` names the commit on the trunk, if any",
    "task.released": "the run gave the task back without using up an attempt",
    "task.retried": "a human put a failed or cancelled task back into the queue",
    "task.failed": "attempts are used up, or the failure is one that only a human can mend",
    "task.cancelled": "a human stopped the task; its work is archived",
    "task.rerouted": "another coder goes on with the task, because the account of its own rests",
    "run.started": "an agent took the task",
    "run.adopted": "another runner goes on with a living agent",
    "run.prepared": "the worktree is ready",
    "run.session": "the agent program told its session",
    "run.said": "the agent said something",
    "run.progress": "the agent told how far it is",
    "run.tool": "the agent used a tool",
    "run.permission": "the agent wants to use a tool; `verdict` tells if it may, `why` the rule",
    "run.used": "tokens and money",
    "budget.warned": "80 % of a limit are spent, or it cannot see what is used; see the text",
    "run.quiet": "the agent shows no sign of life; the text says which signals are silent",
    "run.stopping": "the agent is being stopped; the text says why",
    "run.checked": "the fleet ran the checks",
    "run.warned": "something a human should know about this run",
    "run.ended": "the run is over; `outcome` says how",
    "run.failed": "the attempt failed; `reason` is one of the closed list",
    "message.sent": "a human has words for an agent",
    "message.delivered": "an agent got a human's words",
    "account.rests": "an account of a coder can do no more; the text says until when",
    "account.woken": "a human says that the account can be used again",
    "conflict.found": "two unfinished pieces of work would break the same lines",
    "fleet.paused": "nothing starts until the fleet is resumed",
    "fleet.resumed": "the fleet starts work again",
    "fleet.archived": "the story of tasks that are long finished moved into a compressed file",
    "fleet.reset": "everything was forgotten; branches were archived first",
    "runner.started": "a runner joined with its seats",
    "runner.stopped": "a runner left, or was given up after a day of silence",
    "config.changed": "the runner took over a changed configuration",
    "config.refused": "a changed configuration is bad; the last good one stays in force",
    "repo.added": "a repository joined the fleet, or another machine has a clone of it now",
    "repo.moved": "a repository stands in another folder now",
    "repo.away": "a machine cannot come by a repository or its trunk; the text says which, and why",
    "repo.shared": "work on a repository travels through its remote from now on",
}

BILLED = "run.used"
"""The events that bills are made of: they stay in the log when others are archived."""


def event(
    kind: str,
    now: datetime,
    text: str = "",
    *,
    task: Task | None = None,
    run: Run | None = None,
    **data: Any,
) -> Event:
    """One line for the log; its kind must be one that is explained above."""
    assert kind in KINDS, kind
    return Event(
        at=now,
        kind=kind,
        task=task.id if task else run.task if run else None,
        run=run.id if run else None,
        agent=run.agent if run else None,
        text=text,
        data={name: value for name, value in data.items() if value is not None},
    )
