"""A store is driven at random next to a one-page model of it; they never differ."""

import asyncio
import tempfile
from collections.abc import Awaitable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from codefleet.domain import lifecycle, retries
from codefleet.domain.errors import Refused
from codefleet.domain.lifecycle import Verb, move
from codefleet.domain.model import Run, RunnerId, Task, TaskId
from codefleet.domain.retries import RetryPolicy
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import Outcome, Reason, State
from codefleet.ports import TaskQuery, Write
from tests.store.kinds import KINDS
from tests.store.samples import LEASE, StillClock, event, seat, task

T = TypeVar("T")

SEATS = [seat("x"), seat("y"), seat("z")]
SCOPES: list[tuple[str, ...]] = [(), (), ("src/**",), ("docs/**",)]


class Model:
    """What a store is, without its difficulties: a dictionary."""

    def __init__(self) -> None:
        self.tasks: dict[TaskId, Task] = {}
        self.runs: dict[str, Run] = {}
        self.seq = 0

    def live_run(self, name: TaskId) -> Run | None:
        return next((run for run in self.runs.values() if run.task == name and run.is_live), None)

    def unmet(self, one: Task) -> bool:
        return any(self.tasks[TaskId(need)].state is not State.COMPLETED for need in one.needs)

    def held(self) -> list[tuple[Task, Run]]:
        pairs = ((one, self.live_run(one.id)) for one in self.tasks.values())
        return [(one, run) for one, run in pairs if run and one.state is State.RUNNING]

    def counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for one in self.tasks.values():
            blocked = one.state is State.PENDING and self.unmet(one)
            name = "blocked" if blocked else str(one.state)
            counts[name] = counts.get(name, 0) + 1
        return counts

    def ready(self, now: datetime) -> list[Task]:
        return self.by_urgency(
            one
            for one in self.tasks.values()
            if one.state is State.PENDING
            and not self.unmet(one)
            and (one.not_before is None or one.not_before <= now)
        )

    def by_urgency(self, tasks: Iterable[Task]) -> list[Task]:
        return sorted(tasks, key=lambda one: -one.priority)

    def claimable(self, seats: int, now: datetime) -> list[TaskId]:
        lost = [one for one, run in self.held() if run.lease_until <= now]
        scopes = {one.scope for one, run in self.held() if run.lease_until > now and one.scope}
        chosen: list[TaskId] = []
        for one in [*self.by_urgency(lost), *self.ready(now)]:
            run = self.live_run(one.id)
            is_held = run is not None and run.lease_until > now
            if not is_held and one.scope not in scopes and len(chosen) < seats:
                chosen.append(one.id)
                scopes |= {one.scope} if one.scope else set()
        return chosen

    def keep(self, step: Write) -> None:
        self.tasks.update((one.id, one) for one in step.tasks)
        self.runs.update((run.id, run) for run in step.runs)
        self.seq += len(step.events)


class StoreBesideModel(RuleBasedStateMachine):
    """Every rule is something a fleet does; every invariant is something a reader could ask."""

    kind = "sqlite"

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = StillClock()
        kind = KINDS[self.kind]
        self.store = kind.open(kind.place(Path(self.folder.name)), self.clock)
        self.model = Model()

    def teardown(self) -> None:
        self.do(self.store.close())
        self.runner.close()
        self.folder.cleanup()

    def do(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return self.runner.run(awaited())

    def write(self, step: Write) -> None:
        told = self.do(self.store.write(step))
        assert [one.seq for one in told] == [self.model.seq + n + 1 for n in range(len(told))]
        self.model.keep(step)

    def pick(self, data: st.DataObject, *states: State) -> Task:
        found = [one for one in self.model.tasks.values() if one.state in states]
        return data.draw(st.sampled_from(found))

    def has(self, *states: State) -> bool:
        return any(one.state in states for one in self.model.tasks.values())

    def pick_held(self, data: st.DataObject) -> tuple[Task, Run]:
        return data.draw(st.sampled_from(self.model.held()))

    def end(self, after: Task, run: Run, outcome: Outcome) -> None:
        over = lifecycle.end(run, outcome, self.clock.now())
        fences = {after.id: run.fence}
        self.write(Write(tasks=[after], runs=[over], events=[event()], fences=fences))

    @rule(data=st.data(), priority=st.integers(1, 5), scope=st.sampled_from(SCOPES))
    def add(self, data: st.DataObject, priority: int, scope: tuple[str, ...]) -> None:
        names = list(self.model.tasks)
        needs = data.draw(st.sets(st.sampled_from(names), max_size=3)) if names else set()
        fresh = task(f"t{len(names)}", priority=priority, scope=scope, needs=tuple(needs))
        self.write(Write(tasks=[fresh], events=[event("task.added")]))

    @rule(seats=st.integers(1, 3))
    def claim(self, seats: int) -> None:
        expected = self.model.claimable(seats, self.clock.now())
        claims = self.do(self.store.claim(SEATS[:seats], ClaimFilter(), lease=LEASE))
        assert [claimed.task.id for claimed in claims] == expected
        for taken, run, lost, events in claims:
            assert taken.fence == self.model.tasks[taken.id].fence + 1
            runs = [lost, run] if lost else [run]
            self.model.keep(Write(tasks=[taken], runs=runs, events=events))

    @precondition(lambda self: self.model.held())
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        held, run = self.pick_held(data)
        longer = run.evolve(lease_until=self.clock.now() + LEASE, version=run.version + 1)
        self.write(Write(runs=[longer], fences={held.id: run.fence}))

    @precondition(lambda self: self.model.held())
    @rule(data=st.data())
    def complete(self, data: st.DataObject) -> None:
        held, run = self.pick_held(data)
        self.end(move(held, Verb.COMPLETE, fence=held.fence + 1), run, Outcome.SUBMITTED)

    @precondition(lambda self: self.model.held())
    @rule(data=st.data(), reason=st.sampled_from([Reason.CRASHED, Reason.AUTH]))
    def fail(self, data: st.DataObject, reason: Reason) -> None:
        held, run = self.pick_held(data)
        self.end(
            retries.fail(held, reason, "", self.clock.now(), RetryPolicy()), run, Outcome.FAILED
        )

    @precondition(lambda self: self.model.held())
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        held, run = self.pick_held(data)
        self.end(move(held, Verb.RELEASE, fence=held.fence + 1), run, Outcome.RELEASED)

    @precondition(lambda self: self.model.held())
    @rule(data=st.data())
    def adopt(self, data: st.DataObject) -> None:
        held, run = self.pick_held(data)
        now = self.clock.now()
        taken = lifecycle.adopt(held, run, RunnerId("r2"), now, now + LEASE)
        self.write(Write(tasks=[taken.task], runs=[taken.run], events=taken.events))

    @precondition(lambda self: self.has(State.PENDING, State.RUNNING, State.FAILED))
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        one = self.pick(data, State.PENDING, State.RUNNING, State.FAILED)
        self.write(
            Write(tasks=[move(one, Verb.CANCEL, fence=one.fence + 1)], events=[event("cancelled")])
        )

    @precondition(lambda self: self.has(State.FAILED, State.CANCELLED))
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        one = self.pick(data, State.FAILED, State.CANCELLED)
        self.write(Write(tasks=[move(one, Verb.RETRY)], events=[event("retried")]))

    @precondition(lambda self: self.has(State.PENDING))
    @rule(data=st.data())
    def drop_needs(self, data: st.DataObject) -> None:
        one = self.pick(data, State.PENDING)
        self.write(Write(tasks=[one.evolve(needs=(), version=one.version + 1)]))

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data(), off=st.sampled_from([-1, 0, 2]), fence_off=st.sampled_from([0, 1]))
    def write_too_late(self, data: st.DataObject, off: int, fence_off: int) -> None:
        one = data.draw(st.sampled_from(list(self.model.tasks.values())))
        late = one.evolve(title="late", version=max(one.version + off, 1))
        fences = {one.id: one.fence + fence_off}
        if late.version == one.version + 1 and not fence_off:
            return
        with pytest.raises(Refused):
            self.do(self.store.write(Write(tasks=[late], events=[event()], fences=fences)))

    @rule(seconds=st.sampled_from([1, 10, 31]))
    def advance(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @invariant()
    def the_store_tells_what_the_model_tells(self) -> None:
        if not hasattr(self, "model"):
            return
        tasks = self.do(self.store.tasks(TaskQuery(newest_first=True)))
        assert {one.id: one for one in tasks} == self.model.tasks
        assert self.do(self.store.counts()) == self.model.counts()
        ready = self.do(self.store.tasks(TaskQuery(ready=True)))
        assert ready == self.model.ready(self.clock.now())
        live = {run.id for run in self.do(self.store.runs(live=True))}
        assert live == {run.id for run in self.model.runs.values() if run.is_live}
        assert self.do(self.store.last_seq()) == self.model.seq


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_store_never_differs_from_the_model(kind: str) -> None:
    machine = type("Machine", (StoreBesideModel,), {"kind": kind})
    bounds = settings(
        max_examples=25,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=bounds)
