"""How often a task is tried again.

After a failure, by `AFTER_FAILURE` and the `RetryPolicy`; after a stop that is nobody's fault, as
often as `may_restart`, `may_continue` and `may_wait` allow.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise, takewhile
from typing import NamedTuple

from codefleet.domain.lifecycle import Verb, move
from codefleet.domain.model import Change, Run, Task
from codefleet.domain.words import Outcome, Reason

MOST_FRUITLESS = 3
MOST_WAITS = 60


class AfterFailure(StrEnum):
    """What follows a failure."""

    RETRY = "retry"
    WAIT = "wait"
    HUMAN = "human"


AFTER_FAILURE: dict[Reason, AfterFailure] = {
    Reason.QUOTA: AfterFailure.WAIT,
    Reason.RATE_LIMIT: AfterFailure.WAIT,
    Reason.AUTH: AfterFailure.WAIT,
    Reason.CONTEXT_FULL: AfterFailure.HUMAN,
    Reason.SESSION_LOST: AfterFailure.RETRY,
    Reason.BUDGET: AfterFailure.HUMAN,
    Reason.TIMEOUT: AfterFailure.RETRY,
    Reason.STUCK: AfterFailure.HUMAN,
    Reason.CRASHED: AfterFailure.RETRY,
    Reason.NO_CHANGES: AfterFailure.RETRY,
    Reason.CHECKS_FAILED: AfterFailure.RETRY,
    Reason.MERGE_CONFLICT: AfterFailure.RETRY,
    Reason.CODER_MISSING: AfterFailure.HUMAN,
    Reason.WORKSPACE: AfterFailure.RETRY,
    Reason.CANCELLED: AfterFailure.HUMAN,
    Reason.UNKNOWN: AfterFailure.RETRY,
}


class RetryPolicy(NamedTuple):
    """How often a task is tried, and how long it waits between attempts."""

    limit: int = 3
    first_rest: timedelta = timedelta(seconds=2)
    longest_rest: timedelta = timedelta(minutes=5)

    def backoff(self, attempts: int) -> timedelta:
        doublings = float(2 ** min(max(0, attempts - 1), 30))
        rest_s = min(self.first_rest.total_seconds() * doublings, self.longest_rest.total_seconds())
        return timedelta(seconds=rest_s)


def fail(task: Task, reason: Reason, note: str, now: datetime, policy: RetryPolicy) -> Task:
    """A failed attempt: back to pending with a back-off while attempts remain, else failed."""
    waits = AFTER_FAILURE[reason] is AfterFailure.WAIT
    attempts = task.attempts if waits else task.attempts + 1
    told = {"reason": reason, "note": note, "updated_at": now, "attempts": attempts}
    is_last = attempts >= (task.max_attempts or policy.limit) and not waits
    if AFTER_FAILURE[reason] is AfterFailure.HUMAN or is_last:
        carries_on = task.stage is not None and task.stage.carries_on
        over = Verb.COMPLETE if carries_on else Verb.FAIL
        return move(task, over, **told, fence=task.fence + 1)
    pause = policy.longest_rest if waits else policy.backoff(attempts)
    return move(task, Verb.RELEASE, **told, fence=task.fence + 1, not_before=now + pause)


def begun(earlier: Sequence[Run]) -> Sequence[Run]:
    """The runs that got to work: one that only lost its session does not break a series."""
    return [run for run in earlier if run.reason is not Reason.SESSION_LOST]


def may_restart(earlier: Sequence[Run], most: int) -> bool:
    """May a stuck agent be restarted? Stops before the last such failure do not count."""
    return len(list(_since_failure(earlier, Reason.STUCK))) < most


def may_continue(run: Run, earlier: Sequence[Run]) -> bool:
    """May a run with a full context be continued? Not if three in a row added no work."""
    runs = [*begun(earlier), run]
    fruitless = takewhile(
        lambda pair: pair[0].reason is Reason.CONTEXT_FULL and _work(pair[0]) == _work(pair[1]),
        reversed([*pairwise(runs)]),
    )
    return len(list(fruitless)) < MOST_FRUITLESS


def may_wait(earlier: Sequence[Run]) -> bool:
    """May another provider outage be waited out? After about an hour it counts as a failure."""
    waits = takewhile(
        lambda run: run.outcome is Outcome.RELEASED and run.reason is Reason.CRASHED,
        reversed(begun(earlier)),
    )
    return len(list(waits)) < MOST_WAITS


def _since_failure(earlier: Sequence[Run], reason: Reason) -> Iterator[Run]:
    """The runs that were stopped for this reason since the task last failed for it."""
    for run in reversed(earlier):
        if run.reason is reason and run.outcome is Outcome.FAILED:
            return
        if run.reason is reason:
            yield run


def _work(run: Run) -> tuple[int, Sequence[Change]] | None:
    """What the agents themselves made. The tip also moves when the trunk is merged."""
    return (run.evidence.commits, run.evidence.changes) if run.evidence else None
