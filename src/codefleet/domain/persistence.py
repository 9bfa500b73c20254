"""How often a task continues after a stop that is nobody's fault, before the fleet gives up."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from codefleet.domain.model import Change, Run
from codefleet.domain.words import Outcome, Reason

MOST_FRUITLESS = 3
MOST_WAITS = 60


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
