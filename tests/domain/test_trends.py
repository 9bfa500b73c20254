"""What a log adds up to over a period."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from codefleet.domain import trends
from codefleet.domain.events import event
from codefleet.domain.model import Event, Run, RunId, RunnerId, Task, TaskId
from codefleet.domain.trends import LeadTime, Trends
from codefleet.domain.words import Outcome

NOON = datetime(2030, 1, 15, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def run(number: int, outcome: Outcome | None, start: datetime, took: timedelta, **more: Any) -> Run:
    fields = {"coder": "claude", "agent": "agent-1", "model": "m", **more}
    return Run(
        id=RunId(f"k3m9x2pa.{number}"),
        task=TaskId("k3m9x2pa"),
        number=number,
        runner=RunnerId("lab-1"),
        host="lab",
        fence=number,
        lease_until=NOON,
        outcome=outcome,
        started_at=start,
        ended_at=start + took if outcome else None,
        **fields,
    )


def composed(
    events: Sequence[Event] = (),
    runs: Sequence[Run] = (),
    tasks: Sequence[Task] = (),
    hours: float = 3,
) -> Trends:
    return trends.compose(
        NOON - hours * HOUR, NOON, events, runs, {task.id: task for task in tasks}
    )


def test_what_ended_is_counted_in_its_hour() -> None:
    told = [
        event("task.added", NOON - 2 * HOUR),
        event("task.completed", NOON - 2 * HOUR),
        event("task.failed", NOON - HOUR - MINUTE),
        event("task.cancelled", NOON),
    ]
    flow = composed(told).flow
    assert [(each.at.hour, each.added, each.completed) for each in flow[:2]] == [
        (9, 0, 0),
        (10, 1, 1),
    ]
    assert [each.failed for each in flow] == [0, 1, 0, 0]
    assert [each.cancelled for each in flow] == [0, 0, 0, 1]


def test_a_long_period_is_counted_by_days() -> None:
    found = composed([event("task.completed", NOON)], hours=30 * 24)
    assert (found.step_s, len(found.flow), found.flow[-1].completed) == (86_400, 31, 1)


def test_a_coder_is_judged_by_the_runs_that_it_ended_itself() -> None:
    began = NOON - HOUR
    runs = [
        run(1, Outcome.SUBMITTED, began, 2 * MINUTE),
        run(2, Outcome.SUBMITTED, began, 4 * MINUTE),
        run(3, Outcome.FAILED, began, 30 * MINUTE),
        run(4, Outcome.CANCELLED, began, MINUTE),
        run(5, None, began, MINUTE),
        run(6, Outcome.FAILED, began, MINUTE, coder="codex", model=None),
    ]
    first, second = composed(runs=runs).scores
    assert (first.coder, first.model, first.runs, first.delivered) == ("claude", "m", 3, 2)
    assert first.mean_s == 180
    assert (second.coder, second.model, second.delivered, second.mean_s) == ("codex", "", 0, None)


def test_agents_are_busy_for_as_much_of_an_hour_as_they_work() -> None:
    began = NOON - HOUR - 30 * MINUTE
    runs = [
        run(1, Outcome.SUBMITTED, began, HOUR),
        run(2, None, NOON - 15 * MINUTE, MINUTE, agent="agent-2"),
        run(3, Outcome.SUBMITTED, NOON - 9 * HOUR, 7 * HOUR, agent="agent-3"),
    ]
    found = {each.agent: each.shares for each in composed(runs=runs).busy}
    assert found == {
        "agent-1": (0, 0.5, 0.5, 0),
        "agent-2": (0, 0, 0.25, 0),
        "agent-3": (1, 0, 0, 0),
    }


def test_the_lead_time_is_from_added_to_completed() -> None:
    tasks = [
        Task(
            id=TaskId(f"k3m9x2p{n}"),
            title="T",
            repo="shop",
            created_at=NOON - n * HOUR,
            updated_at=NOON,
        )
        for n in range(1, 4)
    ]
    told = [event("task.completed", NOON, task=task) for task in tasks]
    assert composed(told, tasks=tasks).lead == LeadTime(tasks=3, half_s=7200, most_s=10_080)
    assert composed(told[:1], tasks=tasks).lead == LeadTime(tasks=1, half_s=3600, most_s=3600)
    assert composed().lead is None


def test_limits_are_told_newest_first() -> None:
    told = [event("account.rests", NOON - HOUR, "a"), event("budget.warned", NOON, "b")]
    assert [each.text for each in composed(told).limits] == ["b", "a"]
