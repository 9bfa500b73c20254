"""The fleet as people see it: derived from the nouns, never stored."""

from codefleet.domain.model import (
    Away,
    Budget,
    Conflict,
    Rest,
    Run,
    RunId,
    RunnerId,
    Task,
    TaskId,
    Usage,
    Workflow,
)
from codefleet.domain.noun import Instant, Noun
from codefleet.domain.words import State

LANDING, HELD = "landing", "held"


class Agent(Noun):
    """A named seat in the fleet, derived from its runner and its live run."""

    name: str
    runner: RunnerId
    host: str
    state: str
    task: TaskId | None = None
    run: RunId | None = None
    coder: str | None = None
    since: Instant | None = None
    load: float = 0.0
    memory_free_mb: int = 0
    seen_at: Instant


class InboxItem(Noun):
    """Something that waits for a human: a question, permission to use a tool, work to review, a
    login to renew, or the settings of a repo to fix."""

    kind: str
    task: TaskId | None = None
    id: str
    text: str
    options: tuple[str, ...] = ()
    since: Instant


class Waiting(Noun):
    """A pending task and why it does not run."""

    task: Task
    why: str
    text: str
    behind: tuple[TaskId, ...] = ()


class Left(Noun):
    """A task that does not continue by itself: why, and what settles it if a human has to."""

    task: Task
    text: str
    item: InboxItem | None = None
    needs_human: bool = False


class Limit(Noun):
    """What something may cost, and what it has cost; a `daily` limit resets at midnight UTC."""

    name: str
    repo: str | None = None
    daily: bool = False
    budget: Budget
    spent: Usage
    unpriced_tokens: int = 0


class Spent(Noun):
    """Tokens and money in one row of a bill; columns that were not asked for are empty."""

    day: str = ""
    coder: str = ""
    model: str = ""
    repo: str = ""
    task: str = ""
    source: str = ""
    usage: Usage


class WorkflowStatus(Noun):
    """The state of a workflow: its tasks in the order of its stages, and the last run of each.

    The `limit` shows what all runs together have cost, if the workflow has a budget.
    """

    workflow: Workflow
    state: State
    tasks: tuple[Task, ...]
    runs: tuple[Run, ...]
    limit: Limit | None = None


class Status(Noun):
    """The fleet at a glance. `standing_by` are machines whose runners have no seat right now.

    `repos` is how many the fleet knows.
    """

    at: Instant
    paused: bool
    repos: int = 1
    counts: dict[str, int]
    agents: tuple[Agent, ...]
    running: tuple[Task, ...]
    runs: tuple[Run, ...]
    waiting: tuple[Waiting, ...]
    landing: tuple[Task, ...]
    inbox: tuple[InboxItem, ...]
    conflicts: tuple[Conflict, ...]
    rests: tuple[Rest, ...]
    spent_today: Usage
    unpriced_today: int = 0
    limits: tuple[Limit, ...] = ()
    standing_by: tuple[str, ...] = ()
    away: tuple[Away, ...] = ()

    def remote_of(self, task: Task, run: Run) -> Away | None:
        """The unreachable remote that a run cannot send its work to, though its agent is done."""
        if run.evidence is None:
            return None
        return next((each for each in self.away if each.repo == task.repo), None)


def shown_state(task: Task) -> str:
    """The state as people see it: approved work is `landing`, or `held` if something blocks it.

    Derived: the store knows both as `review`.
    """
    if task.state is State.REVIEW and task.approved:
        return HELD if task.note else LANDING
    return task.state.value
