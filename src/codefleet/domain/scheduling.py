"""Which tasks may start now, and why the others wait: one rule for every claim and every door."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from codefleet.domain import scope
from codefleet.domain.caps import Caps
from codefleet.domain.model import Away, Runner, Task, TaskId
from codefleet.domain.noun import Noun
from codefleet.domain.views import Agent
from codefleet.domain.words import State


class ClaimFilter(NamedTuple):
    """What a runner asks for when it claims. Empty means "any".

    `resting` lists what may not start now, as (repo, coder); the coder is empty for tasks that name
    none.
    """

    coders: tuple[str, ...] = ()
    repos: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    tasks: tuple[TaskId, ...] = ()
    resting: tuple[tuple[str, str], ...] = ()
    caps: Caps | None = None


class Why(StrEnum):
    """The kinds of waiting."""

    PAUSED = "paused"
    NEEDS = "needs"
    HELD_UP = "held_up"
    BUDGET = "budget"
    TIME = "time"
    ACCOUNT = "account"
    ASSIGNED = "assigned"
    SCOPE = "scope"
    MACHINE = "machine"
    SEAT = "seat"


class Hold(Noun):
    """Why a pending task does not start: the kind, a sentence, and the tasks that cause it."""

    why: Why
    text: str
    behind: tuple[TaskId, ...] = ()


def hold(
    task: Task,
    *,
    now: datetime,
    busy: Iterable[Task],
    unmet: Sequence[Task] = (),
    fleet_paused: bool = False,
    resting: str = "",
    agents: Sequence[Agent] | None = None,
    spent_up: str = "",
) -> Hold | None:
    """Why this pending task may not start now, or None if it only lacks a free seat.

    `resting` describes the rest of the account that it would use, `spent_up` a daily budget that is
    spent. Without `agents`, the caller has made sure that the task's assignee is free.
    """
    if task.paused or fleet_paused:
        who = "it" if task.paused else "the whole fleet"
        return Hold(why=Why.PAUSED, text=f"{who} is paused")
    if unmet:
        return _waits_for(unmet)
    if spent_up:
        return Hold(why=Why.BUDGET, text=spent_up)
    if task.not_before and task.not_before > now and not _was_written_later(task, now):
        because = f" ({task.reason.words})" if task.reason else ""
        return Hold(why=Why.TIME, text=f"not before {clock(task.not_before, now)}{because}")
    if resting:
        return Hold(why=Why.ACCOUNT, text=resting)
    if task.assignee and agents is not None and (held := _waits_for_agent(task.assignee, agents)):
        return held
    return _collides(task, busy)


def decide(
    candidates: Iterable[Task], busy: Iterable[Task], *, seats: int, now: datetime
) -> Iterator[Task]:
    """The tasks to start, most urgent first, none colliding with running ones.

    Candidates come in order of urgency with all their needs completed; a chosen task counts as busy
    for the ones after it. `busy` is not read until a candidate has a scope.
    """
    unread = iter(busy)
    running: list[Task] = []
    blocker: dict[tuple[str, tuple[str, ...]], TaskId] = {}
    for task in candidates:
        if seats <= 0:
            return
        claim = (task.repo, task.scope)
        # `running` only grows here, so what blocked this claim once still blocks it.
        if blocker.get(claim, task.id) != task.id:
            continue
        if task.scope:
            running.extend(other for other in unread if other.scope)
        if held := hold(task, now=now, busy=running):
            if held.why is Why.SCOPE:
                blocker[claim] = held.behind[0]
            continue
        yield task
        seats -= 1
        if task.scope:
            running.append(task)


def count_unmet(task: Task, states: Mapping[str, str]) -> int:
    """How many of its needs are not completed, given their states."""
    return sum(states[need] != State.COMPLETED for need in set(task.needs))


def takes(runner: Runner, task: Task) -> bool:
    """Does this runner take tasks for that task's coder?"""
    return runner.coder is None or task.coder in (None, runner.coder)


def clock(moment: datetime, now: datetime) -> str:
    """The time of day in UTC, with its date if that is not today."""
    at, today = moment.astimezone(UTC), now.astimezone(UTC).date()
    return f"{at:%H:%M:%S} UTC" if at.date() == today else f"{at:%Y-%m-%d %H:%M} UTC"


def _was_written_later(task: Task, now: datetime) -> bool:
    """Does its rest begin in the future? Then the clock that wrote it has since been corrected."""
    return task.resting_since is not None and task.resting_since > now


def waits_for_remote(away: Away, now: datetime) -> str:
    """What a task or an agent waits for while a remote does not answer."""
    return f"waits for the remote of {away.repo}, unreachable since {clock(away.since, now)}"


def _waits_for(unmet: Sequence[Task]) -> Hold:
    broken = [task for task in unmet if task.state in (State.FAILED, State.CANCELLED)]
    if broken:
        who = [f"{task.id} ({task.state})" for task in broken]
        return Hold(
            why=Why.HELD_UP,
            text=f"held up by {_few(who)}",
            behind=tuple(task.id for task in broken),
        )
    ids = tuple(task.id for task in unmet)
    return Hold(why=Why.NEEDS, text=f"waits for {_few(ids)}", behind=ids)


def _waits_for_agent(name: str, agents: Iterable[Agent]) -> Hold | None:
    states = {agent.state for agent in agents if agent.name == name}
    if "idle" in states:
        return None
    absent = "" if "working" in states else ", but no runner has that seat now"
    return Hold(why=Why.ASSIGNED, text=f"waits for {name}{absent}")


def _few(names: Sequence[str]) -> str:
    """At most three names and a count, because a status entry has to fit on a line."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _collides(task: Task, busy: Iterable[Task]) -> Hold | None:
    for other in busy:
        if other.id == task.id or other.repo != task.repo:
            continue
        if pair := scope.overlap(task.scope, other.scope):
            ours, theirs = pair
            same = f"{ours} is in its scope too"
            where = same if ours == theirs else f"{ours} overlaps its scope {theirs}"
            return Hold(why=Why.SCOPE, text=f"waits for {other.id}: {where}", behind=(other.id,))
    return None
