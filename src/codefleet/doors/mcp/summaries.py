"""The nouns in brief, for lists that a model reads."""

from typing import Any

from codefleet.domain.model import Conflict, FileClaim, Run, Task
from codefleet.domain.views import Status

View = dict[str, Any]
"""A JSON object, as a tool returns it."""


def task(task: Task) -> View:
    """A task without its long texts and empty fields."""
    found = {
        "task_id": task.id,
        "title": task.title,
        "state": task.state,
        "priority": task.priority,
        "labels": list(task.labels),
        "needs": list(task.needs),
        "scope": list(task.scope),
        "coder": task.coder,
        "assignee": task.assignee,
        "handle": task.handle,
        "swarm": task.swarm,
        "repo": task.repo,
        "branch": task.branch,
        "landed": task.landed,
        "reason": task.reason,
        "note": task.note[:500],
        "paused": task.paused or None,
    }
    return {name: value for name, value in found.items() if value not in (None, "", [])}


def completed(done: Task, run: Run | None) -> View:
    """A completed task with its result."""
    seen = run.evidence if run else None
    return {
        **task(done),
        "completed_at": done.updated_at.isoformat(),
        "run_id": run.id if run else None,
        "summary": (run.result.summary if run.result else run.said)[:1000] if run else "",
        "files": [change.path for change in seen.changes[:50]] if seen else [],
        "checks_passed": seen.checks_passed if seen and seen.checks else None,
    }


def status(now: Status) -> View:
    """The fleet at a glance."""
    cost = {run.id: run.usage for run in now.runs}
    return {
        "counts": now.counts,
        "paused": now.paused,
        "agents": [
            {
                "name": agent.name,
                "state": agent.state,
                "task_id": agent.task,
                "run_id": agent.run,
                "minutes": round((now.at - agent.since).total_seconds() / 60, 1)
                if agent.since
                else None,
                "cost_usd": cost[agent.run].cost_usd if agent.run in cost else None,
            }
            for agent in now.agents
        ],
        "standing_by": list(now.standing_by),
        "needs_a_human": len(now.inbox),
        "conflicts": len(now.conflicts),
        "resting_accounts": [rest.account for rest in now.rests],
        "cost_today_usd": round(now.spent_today.cost_usd, 4),
        "tokens_today": now.spent_today.tokens,
    }


def claim(held: FileClaim) -> View:
    return {"path": held.path, "handle": held.handle, "task_id": held.task}


def conflict(found: Conflict) -> View:
    return {
        "tasks": list(found.tasks),
        "paths": list(found.paths),
        "found": found.found,
        "found_at": found.found_at.isoformat(),
    }
