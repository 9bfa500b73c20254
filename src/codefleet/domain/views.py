"""The fleet as people see it: derived from the nouns, never stored."""

from msgspec import field

from codefleet.domain.model import (
    Away,
    Budget,
    Conflict,
    Event,
    Memory,
    Question,
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
from codefleet.domain.workflow.moves import FlowMove

IN_LANE, HELD = "landing", "held"
"""The states that people see of approved work: in the lane, or held there by what its note says."""
HELD_WORK = "landing"
"""The kind of held work in the inbox. This word and `IN_LANE` are those that scripts know."""


ALERT = "alert"
"""The kind of an alert in the inbox."""


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
    """Something that waits for a human: a question, permission to use a tool, work to review, work
    that is held in the lane, a login to renew, the settings of a repo to fix, or an alert."""

    kind: str
    task: TaskId | None = None
    id: str
    text: str
    options: tuple[str, ...] = ()
    since: Instant


class Move(Noun):
    """Something that may be done with a task now, and the state that it would be in then."""

    verb: str
    to: State


class Notes(Noun):
    """What the agents of a task noted for one another."""

    plan: str = ""
    knowledge: str = ""


class Found(Noun):
    """What a search found; `about` are the tasks of the questions and events."""

    tasks: tuple[Task, ...] = ()
    questions: tuple[Question, ...] = ()
    memories: tuple[Memory, ...] = ()
    events: tuple[Event, ...] = ()
    about: tuple[Task, ...] = ()


class Setting(Noun):
    """A setting in force: its value as one types it, with secrets masked, and where it comes from.

    With `choices`, it is one of these. `overridden_by` names the variable or the flag that is
    stronger than what the home's file says.
    """

    key: str
    value: str
    source: str
    default: str = ""
    meaning: str = ""
    choices: tuple[str, ...] = ()
    overridden_by: str = ""


class CoderFacts(Noun):
    """What is known about a coder without asking its program.

    `trouble` says what it lacks, and how to get that. `passed_on` are the variables for its login
    that agents get, `held_back` those that are set here but that they do not get.
    """

    name: str
    program: str | None = None
    path: str | None = None
    trouble: str = ""
    resume: bool = False
    reports_cost: bool = False
    reports_context: bool = False
    talks: bool = False
    verified: bool = False
    passed_on: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()
    pass_on: str = ""


class WorktreeStatus(Noun):
    """The work of a worker: its branch, and how many commits that and the trunk have alone.

    Without a `path`, no agent is at work there, and all that it left is committed.
    """

    branch: str | None = None
    path: str | None = None
    has_changes: bool = False
    ahead: int = 0
    behind: int = 0


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

    The `limit` shows what all runs together have cost, if the workflow has a budget. `moves` is
    what the actor may do with it now.
    """

    workflow: Workflow
    state: State
    tasks: tuple[Task, ...]
    runs: tuple[Run, ...]
    limit: Limit | None = None
    moves: tuple[FlowMove, ...] = ()


class Status(Noun):
    """The fleet at a glance. `standing_by` are machines whose runners have no seat right now.

    `repos` is how many the fleet knows. `in_review` is finished work that is not on the trunk yet;
    scripts know it as `landing`.
    """

    at: Instant
    paused: bool
    repos: int = 1
    counts: dict[str, int]
    agents: tuple[Agent, ...]
    running: tuple[Task, ...]
    runs: tuple[Run, ...]
    waiting: tuple[Waiting, ...]
    in_review: tuple[Task, ...] = field(name="landing")
    inbox: tuple[InboxItem, ...]
    conflicts: tuple[Conflict, ...]
    rests: tuple[Rest, ...]
    spent_today: Usage
    unpriced_today: int = 0
    limits: tuple[Limit, ...] = ()
    standing_by: tuple[str, ...] = ()
    away: tuple[Away, ...] = ()

    @property
    def lane(self) -> tuple[Task, ...]:
        """Approved work on its way to the trunk."""
        return tuple(task for task in self.in_review if task.approved)

    def remote_of(self, task: Task, run: Run) -> Away | None:
        """The unreachable remote that a run cannot send its work to, though its agent is done."""
        if run.evidence is None:
            return None
        return next((each for each in self.away if each.repo == task.repo), None)


def shown_state(task: Task) -> str:
    """The state as people see it: approved work is in the lane, or held if something blocks it.

    Derived: the store knows both as `review`.
    """
    if task.state is State.REVIEW and task.approved:
        return HELD if task.note else IN_LANE
    return task.state.value
