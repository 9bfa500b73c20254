"""Claiming, adopting, ending and failing: what happens to the task, its run and its fence."""

from datetime import timedelta
from typing import Any

import pytest

from codefleet.domain.errors import IllegalMove
from codefleet.domain.lifecycle import Seat, adopt, claim, end
from codefleet.domain.model import RunnerId, Task
from codefleet.domain.noun import MOST
from codefleet.domain.retries import AFTER_FAILURE, AfterFailure, RetryPolicy, fail
from codefleet.domain.words import Outcome, Reason, State
from tests.domain.samples import NOON, a_run, a_task

LEASE = timedelta(seconds=30)
SEAT = Seat(agent="scripted-2", runner=RunnerId("r2"), host="there", coder="scripted")
POLICY = RetryPolicy(limit=3, first_rest=timedelta(seconds=2), longest_rest=timedelta(minutes=5))

RETRIED = [reason for reason in Reason if AFTER_FAILURE[reason] is AfterFailure.RETRY]
WAITING = [reason for reason in Reason if AFTER_FAILURE[reason] is AfterFailure.WAIT]
FOR_A_HUMAN = [reason for reason in Reason if AFTER_FAILURE[reason] is AfterFailure.HUMAN]


def running(**fields: Any) -> Task:
    return a_task(**{"state": State.RUNNING, "runs": 1, "fence": 4, **fields})


def test_a_claim_starts_the_next_run_under_a_lease_with_a_higher_fence() -> None:
    claimed = claim(a_task(fence=4, runs=2), SEAT, NOON, NOON + LEASE, lost=None)
    assert claimed.task.state is State.RUNNING
    assert (claimed.task.fence, claimed.run.fence) == (5, 5)
    assert (claimed.run.id, claimed.run.number, claimed.task.runs) == ("t1.3", 3, 3)
    assert claimed.run.lease_until == NOON + LEASE
    assert claimed.run.is_live
    assert [event.kind for event in claimed.events] == ["run.started"]


def test_a_claim_uses_up_no_attempt_and_ends_the_rest() -> None:
    resting = a_task(attempts=1, not_before=NOON)
    claimed = claim(resting, SEAT, NOON, NOON + LEASE, lost=None).task
    assert (claimed.attempts, claimed.not_before) == (1, None)


def test_a_task_chooses_its_coder_and_the_seat_gives_one_to_a_task_that_names_none() -> None:
    named = claim(a_task(coder="claude", model="large"), SEAT, NOON, NOON + LEASE, lost=None).run
    plain = claim(a_task(), SEAT, NOON, NOON + LEASE, lost=None).run
    assert (named.coder, named.model) == ("claude", "large")
    assert (plain.coder, plain.model) == ("scripted", None)


def test_claiming_after_a_lost_lease_ends_the_old_run_and_counts_as_an_attempt() -> None:
    task = running(attempts=1)
    claimed = claim(task, SEAT, NOON, NOON + LEASE, lost=a_run(task))
    assert claimed.lost is not None
    assert (claimed.lost.outcome, claimed.lost.reason) == (Outcome.FAILED, Reason.CRASHED)
    assert (claimed.lost.ended_at, claimed.lost.version) == (NOON, 1)
    assert (claimed.task.attempts, claimed.task.fence, claimed.run.id) == (2, 5, "t1.2")
    assert [(event.kind, event.run) for event in claimed.events] == [
        ("run.failed", "t1.1"),
        ("run.started", "t1.2"),
    ]


def test_a_run_left_over_from_before_a_retry_is_ended_without_blaming_the_task() -> None:
    task = a_task(attempts=0, runs=1)
    claimed = claim(task, SEAT, NOON, NOON + LEASE, lost=a_run(task))
    assert claimed.lost is not None
    assert not claimed.lost.is_live
    assert claimed.task.attempts == 0


@pytest.mark.parametrize("state", sorted(set(State) - {State.PENDING, State.RUNNING}))
def test_only_a_pending_or_abandoned_task_can_be_claimed(state: State) -> None:
    with pytest.raises(IllegalMove):
        claim(a_task(state=state), SEAT, NOON, NOON + LEASE, lost=None)


def test_an_adopted_run_stays_the_same_run_and_locks_out_its_old_runner() -> None:
    task = running()
    run = a_run(task, offset=120, session="s")
    taken = adopt(task, run, RunnerId("r2"), NOON, NOON + LEASE)
    assert (taken.task.fence, taken.run.fence) == (5, 5)
    assert (taken.run.runner, taken.run.lease_until) == ("r2", NOON + LEASE)
    assert (taken.run.id, taken.run.offset, taken.run.session) == (run.id, 120, "s")
    assert (taken.task.state, taken.task.runs, taken.task.attempts) == (State.RUNNING, 1, 0)
    assert (taken.task.version, taken.run.version, taken.lost) == (1, 1, None)
    assert [event.kind for event in taken.events] == ["run.adopted"]


@pytest.mark.parametrize("outcome", Outcome)
def test_an_ended_run_is_no_longer_live_and_tells_why(outcome: Outcome) -> None:
    ended = end(a_run(running()), outcome, NOON, Reason.TIMEOUT, "too slow")
    assert not ended.is_live
    assert (ended.outcome, ended.reason, ended.note) == (outcome, Reason.TIMEOUT, "too slow")
    assert (ended.ended_at, ended.version) == (NOON, 1)


def test_every_reason_says_what_follows() -> None:
    assert set(AFTER_FAILURE) == set(Reason)


@pytest.mark.parametrize("reason", RETRIED)
def test_a_failure_that_may_pass_rests_and_is_tried_again(reason: Reason) -> None:
    after = fail(running(), reason, "why", NOON, POLICY)
    assert (after.state, after.attempts, after.fence) == (State.PENDING, 1, 5)
    assert (after.reason, after.note) == (reason, "why")
    assert after.not_before == NOON + timedelta(seconds=2)


@pytest.mark.parametrize("reason", RETRIED)
def test_the_last_attempt_fails_the_task(reason: Reason) -> None:
    after = fail(running(attempts=2), reason, "why", NOON, POLICY)
    assert (after.state, after.attempts, after.fence) == (State.FAILED, 3, 5)
    assert (after.reason, after.note) == (reason, "why")


@pytest.mark.parametrize("reason", FOR_A_HUMAN)
def test_a_failure_only_a_human_can_mend_is_not_tried_again(reason: Reason) -> None:
    after = fail(running(), reason, "why", NOON, POLICY)
    assert (after.state, after.reason, after.fence) == (State.FAILED, reason, 5)


@pytest.mark.parametrize("reason", WAITING)
def test_a_wait_goes_back_to_pending(reason: Reason) -> None:
    after = fail(running(), reason, "until noon", NOON, POLICY)
    assert (after.state, after.reason, after.fence) == (State.PENDING, reason, 5)


@pytest.mark.parametrize("reason", WAITING)
def test_a_wait_burns_no_attempt(reason: Reason) -> None:
    after = fail(running(attempts=2), reason, "until noon", NOON, POLICY)
    assert (after.state, after.attempts) == (State.PENDING, 2)


def test_work_that_cannot_land_goes_back_like_any_failed_attempt() -> None:
    submitted = a_task(state=State.REVIEW, fence=4)
    after = fail(submitted, Reason.MERGE_CONFLICT, "src/a.py", NOON, POLICY)
    assert (after.state, after.attempts, after.fence) == (State.PENDING, 1, 5)


def test_a_task_may_allow_itself_more_or_fewer_attempts_than_the_fleet() -> None:
    impatient = fail(running(max_attempts=1), Reason.CRASHED, "", NOON, POLICY)
    stubborn = fail(running(max_attempts=9, attempts=5), Reason.CRASHED, "", NOON, POLICY)
    assert (impatient.state, stubborn.state) == (State.FAILED, State.PENDING)


@pytest.mark.parametrize("state", sorted(set(State) - {State.RUNNING, State.REVIEW}))
@pytest.mark.parametrize("reason", [Reason.STUCK, Reason.AUTH])
def test_only_work_in_hand_can_fail(state: State, reason: Reason) -> None:
    with pytest.raises(IllegalMove):
        fail(a_task(state=state), reason, "", NOON, POLICY)


def test_each_rest_is_twice_the_last_up_to_the_longest() -> None:
    rests = [POLICY.backoff(attempts).total_seconds() for attempts in range(1, 12)]
    assert rests == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_a_very_stubborn_task_still_rests_the_longest() -> None:
    assert POLICY.backoff(2000) == POLICY.longest_rest


def test_the_longest_rests_that_can_be_set_never_leave_the_calendar() -> None:
    longest = timedelta(seconds=MOST)
    policy = RetryPolicy(limit=99, first_rest=longest, longest_rest=longest)
    assert policy.backoff(99) == longest
    assert NOON + policy.backoff(99) > NOON
