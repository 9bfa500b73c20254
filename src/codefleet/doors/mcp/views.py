"""The fleet's nouns in the terms of the worker and workflow tools."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.budget import told
from codefleet.domain.errors import Invalid
from codefleet.domain.model import Evidence, Run, RunId, Task
from codefleet.domain.views import WorkflowStatus
from codefleet.domain.words import Reason, State
from codefleet.domain.workflow.results import StageResult
from codefleet.doors.mcp.summaries import View
from codefleet.runner.paths import Paths
from codefleet.runner.process.run_folder import ProcessInfo, process_info

STATUS = {
    State.PENDING: "pending",
    State.RUNNING: "running",
    State.ASKING: "running",
    State.REVIEW: "running",
    State.COMPLETED: "succeeded",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
}
STATUSES = (*dict.fromkeys(STATUS.values()), "timed_out")
LABELS = {
    "pending": "[..]",
    "running": "[>>]",
    "succeeded": "[OK]",
    "failed": "[!!]",
    "cancelled": "[--]",
    "timed_out": "[TO]",
}


def refuse_unknown(words: Sequence[str]) -> None:
    """Refuse a word that is not in STATUSES: it would never match anything."""
    for word in words:
        if word not in STATUSES:
            raise Invalid(f"there is no status {word[:40]!r}", hint=f"one of {', '.join(STATUSES)}")


def status(task: Task) -> str:
    """A task's state as one of STATUSES."""
    if task.state is State.FAILED and task.reason is Reason.TIMEOUT:
        return "timed_out"
    return STATUS[task.state]


def states(statuses: Sequence[str]) -> list[State]:
    """The states that these statuses may stand for."""
    plain = {"failed" if each == "timed_out" else each for each in statuses}
    return [state for state, word in STATUS.items() if word in plain]


class Eye(NamedTuple):
    """The viewpoint: the time, when runs were last known to be alive, and the home."""

    now: datetime
    beats: Mapping[RunId, datetime]
    paths: Paths


def worker(task: Task, run: Run | None, eye: Eye) -> View:
    """A task and its last run as one worker."""
    return {
        "worker_id": task.id,
        "task_name": task.title,
        "status": status(task),
        "state": task.state,
        "executor": (run.coder if run else None) or task.coder,
        "model": (run.model if run else None) or task.model,
        "branch_name": task.branch,
        "tags": list(task.labels),
        "metadata": task.metadata,
        "parent_worker_id": task.parent,
        "timeout_seconds": task.timeout_s,
        "retry_count": max(0, task.runs - 1),
        "error_message": task.note if task.state in (State.FAILED, State.CANCELLED) else None,
        "heartbeat_message": None if task.state.is_final else task.note or None,
        "created_at": task.created_at.timestamp(),
        **_attempt(run, eye),
        **_display(task, run, eye.now),
    }


def result(run: Run | None) -> View | None:
    """The result of a run: what the agent reported, with files and commits from git."""
    if run is None or not (run.result or run.evidence):
        return None
    said, seen = run.result, run.evidence
    return {
        "status": said.status if said else "completed" if seen and seen.commits else "blocked",
        "summary": said.summary if said and said.summary else run.said,
        "next_steps": list(said.next_steps) if said else [],
        "tests": checks(seen),
        "files_changed": [change.path for change in seen.changes] if seen else [],
        "commits": seen.commits if seen else 0,
        "base_commit": seen.base if seen else run.base,
        "tip_commit": seen.tip if seen else None,
        "question": said.question if said else "",
    }


def checks(seen: Evidence | None) -> list[View]:
    return [
        {
            "command": check.command,
            "status": "passed" if check.passed else "failed",
            "details": check.tail,
        }
        for check in (seen.checks if seen else ())
    ]


def workflow(stands: WorkflowStatus, now: datetime) -> View:
    """A workflow with one line per stage."""
    runs = {run.task: run for run in stands.runs}
    stages = [_stage(n, task, runs.get(task.id), now) for n, task in enumerate(stands.tasks)]
    words = Counter(stage["status"] for stage in stages)
    done = sum(task.state.is_final for task in stands.tasks)
    ended = max((task.updated_at for task in stands.tasks), default=now)
    is_over = stands.state.is_final
    elapsed = lasted((ended if is_over else now) - stands.workflow.created_at)
    progress = f"{done}/{len(stages)} stages complete ({_counted(words)})"
    return {
        "workflow_id": stands.workflow.id,
        "name": stands.workflow.name,
        "status": STATUS[stands.state],
        "state": stands.state,
        "repo": stands.workflow.repo,
        "stage_summary": stages,
        "created_at": stands.workflow.created_at.timestamp(),
        "completed_at": ended.timestamp() if is_over else None,
        "error_message": _trouble(stands),
        "budget": told(stands.limit) if stands.limit else None,
        "elapsed": elapsed,
        "progress": progress,
        "summary_line": f"{stands.workflow.name}: {progress}, {elapsed}",
    }


def stage_result(found: StageResult) -> View:
    """The result of one stage, with both words for its status."""
    return {**found.plain(), "status": STATUS[found.state], "said": found.status}


def summary(views: Sequence[View], noun: str) -> str:
    """One line over a list, like `5 workers: 2 running, 3 succeeded`."""
    words = Counter(view["status"] for view in views)
    total = f"{len(views)} {noun}{'' if len(views) == 1 else 's'}"
    return f"{total}: {_counted(words)}" if views else total


def lasted(span: timedelta) -> str:
    """A duration as people say it."""
    seconds = max(0, int(span.total_seconds()))
    if seconds < 60:
        return f"{seconds}s"
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes}m {seconds}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60}m"


def _attempt(run: Run | None, eye: Eye) -> View:
    folder = eye.paths.run(run) if run else None
    return {
        "run_id": run.id if run else None,
        "agent": run.agent if run else None,
        "worktree_path": run.worktree if run else None,
        "worker_dir": str(folder) if folder else None,
        "prompt_path": _file(folder, "prompt.md"),
        "stdout_path": _file(folder, "stdout.jsonl"),
        "stderr_path": _file(folder, "stderr.log"),
        "result_json_path": _file(folder, "result.json"),
        "started_at": run.started_at.timestamp() if run else None,
        "ended_at": run.ended_at.timestamp() if run and run.ended_at else None,
        "cost_usd": run.usage.cost_usd if run else 0.0,
        **_pulse(run, process_info(folder) if folder else ProcessInfo(), eye),
    }


def _pulse(run: Run | None, left: ProcessInfo, eye: Eye) -> View:
    """Signs of life: of its runner, which renews the lease, and of the agent, which prints."""
    beat = eye.beats[run.id] if run else None
    said = datetime.fromtimestamp(left.last_output, UTC) if left.last_output else None
    return {
        "pid": left.pid,
        "exit_code": left.exit_code,
        "last_heartbeat_at": beat.timestamp() if beat else None,
        "last_activity_at": left.last_output,
        "heartbeat_age": lasted(eye.now - beat) if beat else None,
        "last_output_age": lasted(eye.now - said) if said else None,
    }


def _file(folder: Path | None, name: str) -> str | None:
    return str(folder / name) if folder else None


def _display(task: Task, run: Run | None, now: datetime) -> View:
    word = status(task)
    end = (run.ended_at if run else None) or (task.updated_at if task.state.is_final else now)
    elapsed = lasted(end - (run.started_at if run else task.created_at))
    who = run.coder if run else task.coder or "any coder"
    return {
        "elapsed": elapsed,
        "status_label": LABELS[word],
        "summary_line": f"{LABELS[word]} {task.title} ({who}, {elapsed})",
    }


def _stage(number: int, task: Task, run: Run | None, now: datetime) -> View:
    end = (run.ended_at if run else None) or now
    return {
        "index": number,
        "name": task.stage.name if task.stage else task.title,
        "executor": (run.coder if run else None) or task.coder,
        "model": (run.model if run else None) or task.model,
        "status": status(task),
        "worker_id": task.id,
        "status_label": LABELS[status(task)],
        "elapsed": lasted(end - run.started_at) if run else None,
        "note": task.note or None,
    }


def _trouble(stands: WorkflowStatus) -> str | None:
    bad = [task for task in stands.tasks if task.state is State.FAILED]
    return f"{bad[0].title}: {bad[0].note}" if bad else None


def _counted(words: Counter[str]) -> str:
    return ", ".join(f"{words[word]} {word}" for word in STATUSES if words[word])
