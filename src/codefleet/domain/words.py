"""The closed lists of words: task states, failure reasons, run outcomes, ways to land, roles."""

from enum import StrEnum


class State(StrEnum):
    """The state of a task. See lifecycle.py for the moves between them."""

    PENDING = "pending"
    RUNNING = "running"
    ASKING = "asking"
    REVIEW = "review"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in FINAL


FINAL = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED})
UNFINISHED = tuple(state for state in State if state not in FINAL)


class Reason(StrEnum):
    """Why a run failed: a closed list. lifecycle.py says what follows from each."""

    QUOTA = "quota"
    RATE_LIMIT = "rate_limit"
    AUTH = "auth"
    CONTEXT_FULL = "context_full"
    SESSION_LOST = "session_lost"
    BUDGET = "budget"
    TIMEOUT = "timeout"
    STUCK = "stuck"
    CRASHED = "crashed"
    NO_CHANGES = "no_changes_claimed_done"
    CHECKS_FAILED = "checks_failed"
    MERGE_CONFLICT = "merge_conflict"
    CODER_MISSING = "coder_missing"
    WORKSPACE = "workspace"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"

    @property
    def words(self) -> str:
        """The reason in plain words; the value is for programs."""
        return IN_WORDS[self]


IN_WORDS = {
    Reason.QUOTA: "usage limit reached",
    Reason.RATE_LIMIT: "rate limited",
    Reason.AUTH: "not logged in",
    Reason.CONTEXT_FULL: "context window full",
    Reason.BUDGET: "budget spent",
    Reason.TIMEOUT: "timed out",
    Reason.STUCK: "no sign of progress",
    Reason.CRASHED: "crashed",
    Reason.NO_CHANGES: "claimed to be done but changed nothing",
    Reason.CHECKS_FAILED: "checks failed",
    Reason.MERGE_CONFLICT: "merge conflict",
    Reason.CODER_MISSING: "no usable agent",
    Reason.WORKSPACE: "no usable workspace",
    Reason.CANCELLED: "cancelled",
    Reason.SESSION_LOST: "session lost",
    Reason.UNKNOWN: "failed",
}


class Outcome(StrEnum):
    """How a run ended. A run without an outcome is live."""

    SUBMITTED = "submitted"
    ASKED = "asked"
    FAILED = "failed"
    RELEASED = "released"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class ReportedStatus(StrEnum):
    """What an agent reports about its own work, in `result.json`."""

    COMPLETED = "completed"
    NO_CHANGES = "completed_no_changes"
    BLOCKED = "blocked"


class LandingMode(StrEnum):
    """How finished work of a repo reaches its trunk."""

    QUEUE = "queue"
    REVIEW = "review"
    BRANCH = "branch"


class Role(StrEnum):
    """What a member of a team is for. access.py says what each may do."""

    TEAM_LEAD = "team-lead"
    COORDINATOR = "coordinator"
    WORKER = "worker"
    MERGER = "merger"
    MONITOR = "monitor"
    NOTIFIER = "notifier"


class AgentTools(StrEnum):
    """How agents reach the fleet's tools."""

    HTTP = "http"
    STDIO = "stdio"
    OFF = "off"


class Complexity(StrEnum):
    """The estimated difficulty of a task."""

    TRIVIAL = "trivial"
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"
    XL = "xl"
