"""Workers: the newest task with a handle and its runs, seen as one agent that people talk to."""

from collections.abc import Sequence
from enum import StrEnum

from codefleet.domain.ids import RunId, TaskId
from codefleet.domain.model import Event, Run, Task
from codefleet.domain.noun import Instant, Noun
from codefleet.domain.words import State

QUIET = "run.quiet"
SIGNS_OF_LIFE = ("run.said", "run.tool", "run.used", "run.changed", "run.progress", "run.started")
"""Events after which a quiet agent counts as alive again."""


LONGEST_TITLE = 80
FENCE = "```"


class WorkerState(StrEnum):
    """What a worker does: waits for a seat, waits for a human, works, is being ended, has ended."""

    STARTING = "starting"
    READY = "ready"
    WORKING = "working"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Health(StrEnum):
    """How alive a worker is: it shows signs of life, it is quiet, or its runner is silent."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


class Worker(Noun):
    """A view of a task with a handle and of its last run; nothing of it is stored."""

    handle: str
    task: TaskId
    run: RunId | None = None
    state: WorkerState
    health: Health
    team: str | None = None
    swarm: str | None = None
    worktree: str | None = None
    session: str | None = None
    spawned_at: Instant
    restarts: int = 0
    depth: int = 0


def state_of(task: Task, run: Run | None) -> WorkerState:
    """The state of a task's worker, given its last run."""
    is_live = run is not None and run.is_live
    if task.state.is_final or task.paused:
        return WorkerState.STOPPING if is_live else WorkerState.STOPPED
    if task.state in (State.ASKING, State.REVIEW):
        return WorkerState.READY
    if run is not None and is_live and run.worktree:
        return WorkerState.WORKING
    return WorkerState.STARTING


def health_of(task: Task, run: Run | None, *, is_silent: bool, last: Sequence[Event]) -> Health:
    """How alive it is: `is_silent` if its runner missed its heartbeats; `last` are the newest
    events that tell, oldest first."""
    if task.state is State.FAILED or (is_silent and run is not None and run.is_live):
        return Health.UNHEALTHY
    is_quiet = bool(last) and last[-1].kind == QUIET and run is not None and last[-1].run == run.id
    return Health.DEGRADED if is_quiet and run is not None and run.is_live else Health.HEALTHY


def heading(prompt: str) -> str:
    """A title for the prompt: its first line of prose, which is not in a fenced block; or none."""
    is_prose = True
    for line in prompt.splitlines():
        if line.strip().startswith(FENCE):
            is_prose = not is_prose
        elif is_prose and (said := line.strip().strip("# ")):
            return said[:LONGEST_TITLE]
    return ""
