"""Every route of claude-fleet that is served, at the root of the server."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from codefleet.api.operation import Operation
from codefleet.doors.http.claude_fleet import (
    auth,
    checkpoints,
    health,
    mail,
    memory,
    swarms,
    tasks,
    teams,
    workers,
    workflows,
)

SYSTEM = "claude-fleet"


def _route(
    method: str,
    path: str,
    verb: Callable[..., Any],
    again: Callable[..., Any] | None = None,
    status: int = 200,
) -> Operation:
    name = re.sub(r"\W+", "_", f"claude_fleet_{method.lower()}{path}").strip("_")
    return Operation(method, path, verb, name=name, status=status, again=again, camel=True)


AUTH = _route("POST", "/auth", auth.auth)
"""The only one that needs no token."""
HEALTH = _route("GET", "/health", health.health)
"""What those get who have a token; others learn only that the server is alive."""
ROUTES: Sequence[Operation] = (
    _route("GET", "/teams/{team}/agents", teams.agents),
    _route("GET", "/teams/{team}/tasks", tasks.team_tasks_of),
    _route("POST", "/teams/{team}/broadcast", teams.broadcast, teams.broadcasted),
    _route("POST", "/tasks", tasks.create_task, tasks.created_task),
    _route("GET", "/tasks/{ref}", tasks.get_task),
    _route("PATCH", "/tasks/{ref}", tasks.update_task),
    _route("POST", "/orchestrate/spawn", workers.spawn, workers.spawned),
    _route("POST", "/orchestrate/dismiss/{handle}", workers.dismiss),
    _route("GET", "/orchestrate/workers", workers.workers),
    _route("POST", "/orchestrate/send/{handle}", workers.send, workers.sent),
    _route("GET", "/orchestrate/output/{handle}", workers.output),
    _route("GET", "/orchestrate/worktree/{handle}/status", workers.worktree_status),
    _route("POST", "/orchestrate/worktree/{handle}/commit", workers.worktree_commit),
    _route("POST", "/orchestrate/worktree/{handle}/push", workers.worktree_push),
    _route("GET", "/swarms", swarms.swarms),
    _route("POST", "/swarms", swarms.create_swarm, swarms.created_swarm),
    _route("GET", "/swarms/{ref}", swarms.swarm),
    _route("POST", "/swarms/{ref}/kill", swarms.kill_swarm),
    _route("POST", "/blackboard", swarms.post, swarms.posted),
    _route("POST", "/blackboard/mark-read", swarms.mark_read),
    _route("POST", "/blackboard/archive", swarms.archive),
    _route("GET", "/blackboard/{swarm}", swarms.read_posts),
    _route("POST", "/blackboard/{swarm}/archive-old", swarms.archive_old),
    _route("POST", "/checkpoints", checkpoints.create_checkpoint, checkpoints.created_checkpoint),
    _route("GET", "/checkpoints/latest/{handle}", checkpoints.latest_checkpoint),
    _route("GET", "/checkpoints/list/{handle}", checkpoints.list_checkpoints),
    _route("GET", "/checkpoints/{ref}", checkpoints.checkpoint),
    _route("POST", "/checkpoints/{ref}/accept", checkpoints.accept_checkpoint),
    _route("POST", "/checkpoints/{ref}/reject", checkpoints.reject_checkpoint),
    _route("POST", "/mail", mail.send_mail, mail.sent_mail),
    _route("GET", "/mail/{handle}", mail.mail),
    _route("GET", "/mail/{handle}/unread", mail.unread_mail),
    _route("POST", "/mail/{ref}/read", mail.mark_mail_read),
    _route("POST", "/handoffs", mail.hand_off, mail.handed_off),
    _route("GET", "/handoffs/{handle}", mail.handoffs),
    _route("POST", "/memory/store", memory.store, memory.stored),
    _route("POST", "/memory/search", memory.search),
    _route("GET", "/memory/recall/{agent}/{key}", memory.recall),
    _route("GET", "/memory/{agent}", memory.memories),
    _route("POST", "/workflows", workflows.create_workflow, workflows.created_workflow, 201),
    _route("GET", "/workflows", workflows.executions),
    _route("GET", "/workflows/{ref}", workflows.execution),
    _route("POST", "/workflows/{ref}/start", workflows.start_workflow, status=201),
    _route("POST", "/workflows/{ref}/cancel", workflows.cancel_workflow),
    _route("GET", "/executions", workflows.executions),
    _route("GET", "/executions/{ref}", workflows.execution),
    _route("GET", "/executions/{ref}/steps", workflows.steps),
    _route("POST", "/executions/{ref}/cancel", workflows.cancel_workflow),
)
