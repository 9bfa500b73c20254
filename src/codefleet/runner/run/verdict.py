"""How a run ended, from facts: its output, its exit, and what git and the checks show."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from codefleet.coder import Abilities
from codefleet.domain import retries
from codefleet.domain.model import Evidence, Question, Result, Run
from codefleet.domain.signals import Asks, Broke, Finished, Limited
from codefleet.domain.words import Reason, ReportedStatus
from codefleet.runner.limits.reset_time import reset_time
from codefleet.runner.output.transcript import OutputState
from codefleet.runner.process.custody import Exit
from codefleet.runner.stop import Cause, Stop


class Failed(NamedTuple):
    reason: Reason
    note: str


class Released(NamedTuple):
    note: str
    until: datetime | None = None
    reason: Reason | None = None


class Asked(NamedTuple):
    """A human must answer: this question, or only those that are already in the inbox."""

    asks: Asks | None


class Delivered(NamedTuple):
    """The agent reports that it is done: now the evidence decides."""

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
"""Stops after which another run continues where this one stopped."""


def judge_run(heard: OutputState, exit: Exit, stop: Stop | None, can: Abilities) -> Verdict:
    """The verdict on the run before the work itself is inspected."""
    if stop and stop.cause in BY_CAUSE:
        return judge_stop(stop)
    if stop and stop.cause in GOES_ON and not isinstance(heard.end, Finished | Asks):
        return judge_stop(stop)
    if said := _judge_end(heard):
        return said
    if stop:
        return judge_stop(stop)
    if heard.resumed and not heard.began and exit.code:
        gone = f"the program refused to resume the session {heard.resumed}"
        return Released(gone, None, Reason.SESSION_LOST)
    return _judge_exit(exit, can)


def _judge_end(heard: OutputState) -> Verdict | None:
    """The verdict from the end that the agent reported, if any."""
    match heard.end:
        case Finished(no_changes=no_changes):
            return Delivered(no_changes)
        case Asks() as asks:
            return Asked(asks)
        case Limited(text, resets_at, quota):
            used_up = quota or resets_at
            return Released(text, resets_at, Reason.QUOTA if used_up else Reason.RATE_LIMIT)
        case Broke() as broke:
            return _judge_failure(broke, heard)
    return None


def _judge_failure(broke: Broke, heard: OutputState) -> Failed | Released:
    """A failure that is not the task's fault uses up no attempt."""
    reason, text = _reason(broke.reason), broke.text
    blameless = {Reason.QUOTA, Reason.AUTH, Reason.CONTEXT_FULL}
    if broke.passing:
        blameless.add(Reason.CRASHED)
    if heard.resumed:
        blameless.add(Reason.SESSION_LOST)
    if reason in blameless:
        return Released(text, None, reason)
    return Failed(reason, text.strip() or "the agent gave up without a reason")


def judge_stop(stop: Stop) -> Failed | Released:
    """The verdict on a run that the fleet itself stopped."""
    if stop.cause in BY_CAUSE:
        return Failed(BY_CAUSE[stop.cause], stop.why)
    return Released(stop.why, None, GOES_ON.get(stop.cause))


def with_reset_time(ended: Verdict, said_at: datetime) -> Verdict:
    """The same verdict, with the reset time of a limit if only the program's message has it."""
    match ended:
        case Released(note, None, Reason.QUOTA | Reason.RATE_LIMIT):
            return ended._replace(until=reset_time(note, said_at))
    return ended


def limit_restarts(ended: Verdict, run: Run, earlier: Sequence[Run], restarts: int) -> Verdict:
    """The same verdict, or a failure if the task has already continued this way too often."""
    match ended:
        case Released(note, _, Reason.STUCK) if not retries.may_restart(earlier, restarts):
            return Failed(Reason.STUCK, f"{note}; {restarts} restarts did not help")
        case Released(note, _, Reason.CONTEXT_FULL) if not retries.may_continue(run, earlier):
            fruitless = f"{retries.MOST_FRUITLESS} fresh starts in a row made no progress"
            return Failed(Reason.CONTEXT_FULL, f"{note}; {fruitless}")
        case Released(note, _, Reason.CRASHED) if not retries.may_wait(earlier):
            return Failed(Reason.CRASHED, f"{note}; waiting did not help")
    return ended


def apply_notes(
    ended: Verdict, result: Result | None, asks: Asks | None, posed: Sequence[Question] = ()
) -> Verdict:
    """The verdict with the agent's notes and the unanswered questions that it `posed`.

    They matter only if the run ended well.
    """
    if not isinstance(ended, Delivered):
        return ended
    if posed:
        return Asked(asks if asks and asks.text not in {q.text for q in posed} else None)
    if asks:
        return Asked(asks)
    nothing_to_do = result is not None and result.status is not ReportedStatus.COMPLETED
    return Delivered(ended.no_changes or nothing_to_do)


def judge_work(evidence: Evidence, delivered: Delivered) -> Failed | None:
    """What is wrong with the work, according to git and the checks; None if it is good."""
    if evidence.unresolved:
        return Failed(
            Reason.MERGE_CONFLICT,
            f"the conflict is not resolved in {', '.join(evidence.unresolved[:5])}",
        )
    if not evidence.changes and not delivered.no_changes:
        return Failed(Reason.NO_CHANGES, "the agent reports that it is done, but nothing changed")
    for check in evidence.checks:
        if not check.passed:
            said = f"`{check.command}` failed with exit code {check.exit_code}"
            return Failed(Reason.CHECKS_FAILED, f"{said}\n{check.tail}".strip())
    return None


def _judge_exit(exit: Exit, can: Abilities) -> Verdict:
    """The verdict from the exit alone; only for some programs does an exit code of 0 mean done."""
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
