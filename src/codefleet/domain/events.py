"""The kinds of events, each with an explanation, and how to make one."""

from datetime import datetime
from typing import Any

from codefleet.domain.model import Event, Run, Task

KINDS = {
    "task.added": "a task was added to the queue",
    "task.edited": "someone changed a task's fields",
    "task.paused": "a human paused the task",
    "task.resumed": "the task may start again",
    "task.asked": "the agent needs an answer; the question is in the inbox",
    "task.answered": "a human answered; the task continues",
    "task.submitted": "the work is on its branch with its evidence, and waits to land",
    "task.approved": "a human approved the work for the trunk",
    "task.unapproved": "the work changed after it was approved; the text shows how",
    "task.waits": "approved work is held in the lane by something outside the fleet; see the text",
    "task.rejected": "a human sent the work back, with a reason",
    "review.commented": "a reviewer commented on a line of the work",
    "review.withdrew": "a reviewer took a comment back",
    "task.bounced": "the work could not land and goes back to an agent, with the reason",
    "task.completed": "the task is done; `landed` names the commit on the trunk, if any",
    "task.released": "the run gave the task back without using up an attempt",
    "task.retried": "a human put a failed or cancelled task back into the queue",
    "task.failed": "attempts are used up, or only a human can fix the failure",
    "task.cancelled": "a human stopped the task; its work is archived",
    "task.rerouted": "another coder continues the task, because its own coder's account rests",
    "run.started": "an agent took the task",
    "run.adopted": "another runner took over a live agent",
    "run.prepared": "the worktree is ready",
    "run.session": "the agent program reported its session",
    "run.said": "the agent said something",
    "run.progress": "the agent reported its progress",
    "run.thought": "the agent's program showed what it thinks",
    "run.tool": "the agent used a tool; `call` is its program's name for the call",
    "run.result": "a tool call ended; the text is the end of what came out",
    "run.changed": "the agent changed a file for the first time; `change` says how",
    "run.permission": "the agent wants to use a tool; `verdict` is the decision, `why` the rule",
    "run.used": "tokens and money were used",
    "budget.warned": "80 % of a limit is spent, or usage cannot be measured; see the text",
    "run.quiet": "the agent shows no sign of life; the text names the silent signals",
    "run.stopping": "the agent is being stopped; the text says why",
    "run.checked": "the fleet ran the checks",
    "run.warned": "something a human should know about this run",
    "run.ended": "the run is over; `outcome` says how",
    "run.failed": "the attempt failed; `reason` is one of the closed list",
    "alert.raised": "a monitor put a line into the inbox",
    "alert.settled": "a human took an alert out of the inbox",
    "swarm.created": "a group of agents with a blackboard was created",
    "swarm.killed": "a swarm ended: its agents are stopped, and their work is kept",
    "blackboard.posted": "an agent or a human posted on the blackboard of a swarm",
    "blackboard.read": "a reader marked posts as read",
    "blackboard.archived": "posts of a blackboard moved to its archive",
    "checkpoint.created": "an agent wrote down what another needs to go on",
    "checkpoint.accepted": "another agent goes on from a checkpoint; the text says how",
    "checkpoint.rejected": "nobody goes on from a checkpoint; the text says why",
    "memory.stored": "an agent or a human stored what it learnt about a repository",
    "files.claimed": "an agent or a human claimed files; the text names who and which",
    "message.sent": "a human or an agent sent a message to an agent",
    "message.delivered": "an agent received a message, or someone read it",
    "account.rests": "a coder's account cannot be used for now; the text says until when",
    "account.woken": "a human marked the account as usable again",
    "conflict.found": "two unfinished pieces of work change the same lines and conflict",
    "team.created": "a team was created",
    "team.removed": "a team was removed; its tokens are revoked",
    "team.invited": "whoever knows the secret of the invite may join the team",
    "team.withdrew": "an invite is no longer valid",
    "team.joined": "a member joined the team",
    "token.created": "a member got a token; `token` is its id",
    "token.revoked": "the token with this id is no longer valid; streams that use it end",
    "team.notified": "a notifier tells whoever watches the team; see the text",
    "fleet.paused": "nothing starts until the fleet is resumed",
    "fleet.resumed": "the fleet starts work again",
    "fleet.archived": "the events of tasks finished long ago moved to a compressed file",
    "fleet.reset": "all tasks and events were deleted; branches were archived first",
    "runner.started": "a runner joined with its seats",
    "runner.stopped": "a runner left, or was dropped after a day of silence",
    "config.changed": "the runner loaded a changed configuration",
    "config.refused": "a changed configuration is invalid; the last good one stays in force",
    "repo.added": "a repository joined the fleet, or another machine now has a clone of it",
    "repo.moved": "a repository moved to another folder",
    "repo.away": "a machine cannot reach a repository or its trunk; the text says which, and why",
    "repo.shared": "work on a repository now travels through its remote",
}

OUTPUT = frozenset(
    {
        *("run.said", "run.thought", "run.progress", "run.changed", "run.permission"),
        *("run.tool", "run.result"),
        *("task.asked", "task.answered", "message.sent", "message.delivered"),
        *("blackboard.posted", "checkpoint.created"),
    }
)
"""The kinds that show what agents did, and what they and humans said to each other."""

MEMORIES = frozenset({"memory.stored"})
ALERTS = frozenset({"alert.raised", "alert.settled"})

BILLED = "run.used"
"""The events that bills are computed from: they stay in the log when others are archived."""


def event(
    kind: str,
    now: datetime,
    text: str = "",
    *,
    task: Task | None = None,
    run: Run | None = None,
    by: str = "",
    **data: Any,
) -> Event:
    """One event for the log; its kind must be explained above. The core adds by whom."""
    assert kind in KINDS, kind
    return Event(
        at=now,
        kind=kind,
        task=task.id if task else run.task if run else None,
        run=run.id if run else None,
        agent=run.agent if run else None,
        by=by,
        text=text,
        data={name: value for name, value in data.items() if value is not None},
    )
