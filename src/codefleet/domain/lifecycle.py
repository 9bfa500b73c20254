"""The table of legal moves, and the one function that makes them.

This is the only place that sets a task's state.
"""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from codefleet.domain.access import RunnerOn
from codefleet.domain.errors import IllegalMove
from codefleet.domain.events import event
from codefleet.domain.model import Event, Run, RunId, RunnerId, Task
from codefleet.domain.words import Outcome, Reason, State


class Verb(StrEnum):
    """What can happen to a task."""

    CLAIM = "claim"
    ASK = "ask"
    ANSWER = "answer"
    SUBMIT = "submit"
    LAND = "land"
    REJECT = "reject"
    COMPLETE = "complete"
    FAIL = "fail"
    RELEASE = "release"
    CANCEL = "cancel"
    RETRY = "retry"
    PAUSE = "pause"
    RESUME = "resume"


_P, _R, _A, _V = State.PENDING, State.RUNNING, State.ASKING, State.REVIEW
_C, _F, _X = State.COMPLETED, State.FAILED, State.CANCELLED

MOVES: dict[Verb, dict[State, State]] = {
    Verb.CLAIM: {_P: _R, _R: _R},  # a running task only once its lease has expired
    Verb.ASK: {_R: _A},
    Verb.ANSWER: {_A: _P},
    Verb.SUBMIT: {_R: _V},
    Verb.LAND: {_V: _C},
    Verb.REJECT: {_V: _P},
    Verb.COMPLETE: {_R: _C, _V: _C},  # from review: it failed, but its workflow carries on
    Verb.FAIL: {_R: _F, _V: _F},
    Verb.RELEASE: {_R: _P, _V: _P},
    Verb.CANCEL: {_P: _X, _R: _X, _A: _X, _V: _X, _F: _X},
    Verb.RETRY: {_F: _P, _X: _P},
    Verb.PAUSE: {_P: _P, _R: _R, _V: _V},
    Verb.RESUME: {_P: _P, _R: _R, _V: _V},
}

HUMAN = (
    *(Verb.ANSWER, Verb.LAND, Verb.REJECT, Verb.CANCEL),
    *(Verb.RETRY, Verb.PAUSE, Verb.RESUME),
)
"""What people may ask for; the rest happens automatically."""

NOT_WHILE_LANDING = (Verb.CANCEL, Verb.REJECT, Verb.PAUSE)

WORDS = {
    "open": State.PENDING,
    "in_progress": State.RUNNING,
    "assigned": State.RUNNING,
    "closed": State.COMPLETED,
    "resolved": State.COMPLETED,
    "done": State.COMPLETED,
    "canceled": State.CANCELLED,
}
"""The terms of other systems, accepted where users type them."""


def is_editable(task: Task) -> bool:
    """Can its fields still change? Those of a failed task can: a retry may need it."""
    return not task.state.is_final or task.state is State.FAILED


def is_reviewable(task: Task) -> bool:
    """Can its work be commented on?"""
    return task.state is State.REVIEW and not task.is_landing


WITHOUT_A_MOVE: dict[str, Callable[[Task], bool]] = {
    "edit": is_editable,
    "send": lambda task: not task.state.is_final,
    "comment": is_reviewable,
}
"""What people may ask for that leaves a task in its state, and of which tasks."""


def allowed(task: Task) -> tuple[Verb, ...]:
    """What people may ask for in the task's present state."""
    return tuple(verb for verb in HUMAN if task.state in MOVES[verb] and _makes_sense(task, verb))


def _makes_sense(task: Task, verb: Verb) -> bool:
    """Would it change anything? Nobody can stop a task while it lands."""
    if task.is_landing and verb in NOT_WHILE_LANDING:
        return False
    if verb is Verb.LAND:
        return not task.approved
    return verb not in (Verb.PAUSE, Verb.RESUME) or task.paused is (verb is Verb.RESUME)


def move(task: Task, verb: Verb, **changes: Any) -> Task:
    """The task after `verb`, with the next version number."""
    if task.is_landing and verb in NOT_WHILE_LANDING:
        raise IllegalMove(
            f"cannot {verb} {task.id}: it is landing on the trunk right now",
            hint="try again in a moment; if its runner was killed, the next one finishes it",
        )
    after = MOVES[verb].get(task.state)
    if after is None:
        allowed = ", ".join(v for v in HUMAN if task.state in MOVES[v]) or "nothing"
        raise IllegalMove(
            f"cannot {verb} {task.id}: it is {task.state}",
            hint=f"a {task.state} task allows: {allowed}",
        )
    changes["state"] = after
    if "not_before" in changes:
        changes["resting_since"] = changes["updated_at"] if changes["not_before"] else None
    changes["version"] = task.version + 1
    return task.evolve(**changes)


WENT_AWAY = "its runner went away"


class Seat(NamedTuple):
    """Who claims: an agent's name on a runner, and its coder for tasks that name none."""

    agent: str
    runner: RunnerId
    host: str
    coder: str


class Claim(NamedTuple):
    """A claimed task, its run, the run whose lease expired, if any, and the events to log."""

    task: Task
    run: Run
    lost: Run | None
    events: tuple[Event, ...]


def claim(task: Task, seat: Seat, now: datetime, until: datetime, lost: Run | None) -> Claim:
    """Give a task to a seat: the next run, its lease, and a fence above all earlier ones."""
    taken = move(
        task,
        Verb.CLAIM,
        fence=task.fence + 1,
        runs=task.runs + 1,
        attempts=task.attempts + (1 if lost and task.state is State.RUNNING else 0),
        not_before=None,
        updated_at=now,
    )
    run = Run(
        id=RunId(f"{task.id}.{taken.runs}"),
        task=task.id,
        number=taken.runs,
        agent=seat.agent,
        runner=seat.runner,
        host=seat.host,
        fence=taken.fence,
        lease_until=until,
        coder=task.coder or seat.coder,
        model=task.model,
        started_at=now,
    )
    by = str(RunnerOn(host=seat.host))
    events = [event("run.started", now, task.title, run=run, by=by)]
    if lost:
        lost = end(lost, Outcome.FAILED, now, Reason.CRASHED, WENT_AWAY)
        told = event("run.failed", now, lost.note, run=lost, by=by, reason=lost.reason)
        events.insert(0, told)
    return Claim(taken, run, lost, tuple(events))


def adopt(task: Task, run: Run, runner: RunnerId, now: datetime, until: datetime) -> Claim:
    """Hand a live run to another runner; the higher fence locks the old one out."""
    fence = task.fence + 1
    taken = task.evolve(fence=fence, updated_at=now, version=task.version + 1)
    kept = run.evolve(runner=runner, fence=fence, lease_until=until, version=run.version + 1)
    told = event("run.adopted", now, f"{runner} took it over", run=kept)
    return Claim(taken, kept, None, (told,))


def end(
    run: Run, outcome: Outcome, now: datetime, reason: Reason | None = None, note: str = ""
) -> Run:
    """The run after it ended."""
    return run.evolve(
        outcome=outcome, reason=reason, note=note, ended_at=now, version=run.version + 1
    )
