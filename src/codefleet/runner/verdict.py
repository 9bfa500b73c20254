"""How a run ended, from facts: what was heard, how the process ended, what git and checks say."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from codefleet.domain import persistence
from codefleet.domain.model import Evidence, Question, Result, Run
from codefleet.domain.signals import Asks, Broke, Finished, Limited
from codefleet.domain.words import Claimed, Reason
from codefleet.ports import Abilities
from codefleet.runner.agents.hearing import Heard
from codefleet.runner.bounds.reset_time import reset_time
from codefleet.runner.custody import Exit


class Cause(StrEnum):
    """Why the fleet itself stopped an agent."""

    CANCELLED = "cancelled"
    LOST = "lost"
    PAUSED = "paused"
    SHUTDOWN = "shutdown"
    TIMEOUT = "timeout"
    STUCK = "stuck"
    BUDGET = "budget"
    DAY = "day"
    ASKED = "asked"
    CONTEXT = "context"
    REFUSED = "refused"


class Stop(NamedTuple):
    cause: Cause
    why: str


class Failed(NamedTuple):
    reason: Reason
    note: str


class Released(NamedTuple):
    note: str
    until: datetime | None = None
    reason: Reason | None = None


class Asked(NamedTuple):
    """A human must answer: this, or only what it put into the inbox already."""

    asks: Asks | None


class Delivered(NamedTuple):
    """The agent says it is done: now the evidence decides."""

    no_changes: bool


Verdict = Failed | Released | Asked | Delivered

BY_CAUSE = {
    Cause.TIMEOUT: Reason.TIMEOUT,
    Cause.BUDGET: Reason.BUDGET,
}
GOES_ON = {
    Cause.STUCK: Reason.STUCK,
    Cause.CONTEXT: Reason.CONTEXT_FULL,
    Cause.DAY: Reason.BUDGET,
}
"""Stops after which another run goes on where this one stood."""


def of_the_run(heard: Heard, exit: Exit, stop: Stop | None, can: Abilities) -> Verdict:
    """What the run amounts to before anybody has looked at the work itself."""
    if stop and stop.cause in BY_CAUSE:
        return of_a_stop(stop)
    if stop and stop.cause in GOES_ON and not isinstance(heard.end, Finished | Asks):
        return of_a_stop(stop)
    if said := _of_the_end(heard):
        return said
    if stop:
        return of_a_stop(stop)
    if heard.resumed and not heard.began and exit.code:
        gone = f"the program refused to resume the session {heard.resumed}"
        return Released(gone, None, Reason.SESSION_LOST)
    return _of_the_process(exit, can)


def _of_the_end(heard: Heard) -> Verdict | None:
    """What the agent's last word amounts to, if it had one."""
    match heard.end:
        case Finished(no_changes=no_changes):
            return Delivered(no_changes)
        case Asks() as asks:
            return Asked(asks)
        case Limited(text, resets_at, quota):
            used_up = quota or resets_at
            return Released(text, resets_at, Reason.QUOTA if used_up else Reason.RATE_LIMIT)
        case Broke() as broke:
            return _of_a_break(broke, heard)
    return None


def _of_a_break(broke: Broke, heard: Heard) -> Failed | Released:
    """Trouble that is not the task's own costs no attempt."""
    reason, text = _reason(broke.reason), broke.text
    blameless = {Reason.QUOTA, Reason.AUTH, Reason.CONTEXT_FULL}
    if broke.passing:
        blameless.add(Reason.CRASHED)
    if heard.resumed:
        blameless.add(Reason.SESSION_LOST)
    if reason in blameless:
        return Released(text, None, reason)
    return Failed(reason, text.strip() or "the agent gave up and did not say why")


def of_a_stop(stop: Stop) -> Failed | Released:
    """What follows when the fleet itself lets a run go no further."""
    if stop.cause in BY_CAUSE:
        return Failed(BY_CAUSE[stop.cause], stop.why)
    return Released(stop.why, None, GOES_ON.get(stop.cause))


def timed(ended: Verdict, said_at: datetime) -> Verdict:
    """The same, with the end of a limit where only the program's words tell it."""
    match ended:
        case Released(note, None, Reason.QUOTA | Reason.RATE_LIMIT):
            return ended._replace(until=reset_time(note, said_at))
    return ended


def bounded(ended: Verdict, run: Run, earlier: Sequence[Run], restarts: int) -> Verdict:
    """The same, unless the task went on in this way too often already: then it fails."""
    match ended:
        case Released(note, _, Reason.STUCK) if not persistence.may_restart(earlier, restarts):
            return Failed(Reason.STUCK, f"{note}; {restarts} restarts did not help")
        case Released(note, _, Reason.CONTEXT_FULL) if not persistence.may_continue(run, earlier):
            fruitless = f"{persistence.MOST_FRUITLESS} fresh starts in a row brought nothing new"
            return Failed(Reason.CONTEXT_FULL, f"{note}; {fruitless}")
        case Released(note, _, Reason.CRASHED) if not persistence.may_wait(earlier):
            return Failed(Reason.CRASHED, f"{note}; waiting did not help")
    return ended


def of_the_notes(
    ended: Verdict, result: Result | None, asks: Asks | None, posed: Sequence[Question] = ()
) -> Verdict:
    """What the agent's notes, and questions that it `posed` in vain, add to a run that ended well.

    A run that did not end well is moved by none.
    """
    if not isinstance(ended, Delivered):
        return ended
    if posed:
        return Asked(asks if asks and asks.text not in {q.text for q in posed} else None)
    if asks:
        return Asked(asks)
    nothing_to_do = result is not None and result.status is not Claimed.COMPLETED
    return Delivered(ended.no_changes or nothing_to_do)


def of_the_work(evidence: Evidence, delivered: Delivered) -> Failed | None:
    """What is wrong with the work, as git and the checks see it; None when it is good."""
    if evidence.unresolved:
        return Failed(
            Reason.MERGE_CONFLICT,
            f"the conflict is not resolved in {', '.join(evidence.unresolved[:5])}",
        )
    if not evidence.changes and not delivered.no_changes:
        return Failed(Reason.NO_CHANGES, "the agent says it is done, but nothing changed")
    for check in evidence.checks:
        if not check.passed:
            said = f"`{check.command}` failed with exit code {check.exit_code}"
            return Failed(Reason.CHECKS_FAILED, f"{said}\n{check.tail}".strip())
    return None


def _of_the_process(exit: Exit, can: Abilities) -> Verdict:
    """The agent ended without a last word; an exit code of 0 is one only for some programs."""
    if exit.error:
        return Failed(Reason.CODER_MISSING, exit.error)
    if exit.lost:
        return Failed(Reason.CRASHED, "the agent's keeper was killed")
    if exit.signal:
        return Failed(Reason.CRASHED, f"the agent was killed by signal {exit.signal}")
    if exit.code or can.says_when_done:
        return Failed(Reason.CRASHED, f"the agent was cut off, with exit code {exit.code}")
    return Delivered(no_changes=False)


def _reason(name: str) -> Reason:
    return Reason(name) if name in Reason.__members__.values() else Reason.UNKNOWN
