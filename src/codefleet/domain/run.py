"""Runs: one attempt at a task, what it cost, and the evidence of what it did."""

from collections.abc import Sequence

from codefleet.domain.ids import RunId, RunnerId, TaskId
from codefleet.domain.noun import Amount, Instant, Natural, Noun
from codefleet.domain.words import Outcome, Reason, ReportedStatus


def dollars(amount: float) -> float:
    """An amount of money without binary rounding noise: 0.3, not 0.29999999999999993."""
    return round(amount, 9)


class Usage(Noun):
    """Sums of tokens and money."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost_usd=dollars(self.cost_usd + other.cost_usd),
        )

    def __sub__(self, other: "Usage") -> "Usage":
        """What was added since `other`; never negative."""
        return Usage(
            input_tokens=max(0, self.input_tokens - other.input_tokens),
            output_tokens=max(0, self.output_tokens - other.output_tokens),
            cached_tokens=max(0, self.cached_tokens - other.cached_tokens),
            cost_usd=dollars(max(0.0, self.cost_usd - other.cost_usd)),
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class Change(Noun):
    """A file touched by a run, as git sees it."""

    path: str
    kind: str
    added: int = 0
    removed: int = 0


class Check(Noun):
    """One check command as the fleet itself ran it."""

    command: str
    exit_code: int
    seconds: float
    log: str = ""
    tail: str = ""

    @property
    def passed(self) -> bool:
        return self.exit_code == 0


class Evidence(Noun):
    """What the fleet itself observed of a run: git facts and check commands.

    Merges do not count as commits: the fleet makes them too, when the trunk has moved.
    """

    base: str
    tip: str
    tree: str
    commits: int = 0
    salvaged: bool = False
    changes: tuple[Change, ...] = ()
    outside_scope: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    checkout_touched: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def checks_passed(self) -> bool:
        return all(check.passed for check in self.checks)


class Result(Noun):
    """What an agent reports about its work when it ends; files and commits are taken from git.

    `choice` is the stage that a judge picks.
    """

    status: ReportedStatus = ReportedStatus.COMPLETED
    summary: str = ""
    files_changed: tuple[str, ...] = ()
    tests: str = ""
    commits: int = 0
    next_steps: tuple[str, ...] = ()
    question: str = ""
    options: tuple[str, ...] = ()
    choice: str = ""


class Worked(Noun):
    """How many seconds an agent has worked, as of an uptime of one boot."""

    boot: str
    uptime: Amount
    seconds: Amount = 0.0


class Run(Noun):
    """One attempt at a task by one agent, under a lease."""

    id: RunId
    task: TaskId
    number: int
    agent: str
    runner: RunnerId
    host: str
    fence: Natural
    lease_until: Instant
    coder: str
    model: str | None = None
    branch: str | None = None
    base: str | None = None
    worktree: str | None = None
    session: str | None = None
    listens: bool = False
    offset: int = 0
    usage: Usage = Usage()
    memory_mb: int = 0
    worked: Worked | None = None
    context: float = 0.0
    """The share of the context window that is in use; 0 if the program does not report it."""
    outcome: Outcome | None = None
    reason: Reason | None = None
    note: str = ""
    said: str = ""
    tip: str | None = None
    evidence: Evidence | None = None
    result: Result | None = None
    started_at: Instant
    ended_at: Instant | None = None
    version: Natural = 0

    @property
    def is_live(self) -> bool:
        return self.outcome is None

    @property
    def made(self) -> str | None:
        """The newest commit of this run that the fleet has seen, or that a human approved."""
        return self.tip or (self.evidence.tip if self.evidence else None)

    def without_output(self) -> "Run":
        """The same run without what its agent did and said, but with its last commit."""
        hidden = {"said": "", "note": "", "result": None, "evidence": None, "worktree": None}
        return self.evolve(**hidden, tip=self.made)


def last_made(runs: Sequence[Run]) -> Run | None:
    """The last of these runs that has a commit the fleet has seen."""
    return next((run for run in reversed(runs) if run.made), None)
