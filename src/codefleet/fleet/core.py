"""What both halves of the fleet build on: the store, who asks, and the way to change a task."""

import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import copy
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self

from codefleet.config import Config
from codefleet.domain import access
from codefleet.domain.access import HUMAN, Actor, AgentOf, Holder, Right
from codefleet.domain.errors import (
    AlreadyDone,
    FleetError,
    Forbidden,
    Invalid,
    NotFound,
    Outdated,
    Refused,
    Stale,
)
from codefleet.domain.events import event
from codefleet.domain.lifecycle import Verb, move
from codefleet.domain.model import Event, Question, Receipt, Run, Task, TaskId, Workflow
from codefleet.domain.redaction import Redaction
from codefleet.domain.suggestion import did_you_mean
from codefleet.domain.words import State
from codefleet.domain.workflow import cascade
from codefleet.fleet import lineage, receipts
from codefleet.fleet.agent_store import AgentStore
from codefleet.fleet.guesses import Guesses
from codefleet.fleet.team_store import TeamStore, member_store
from codefleet.ports import DraftChecks, Store, TaskQuery, Write

if TYPE_CHECKING:
    from codefleet.fleet.board import BoardReader

TRIES = 100
COMPARED = 1000
"""How many of the newest ids are searched for the one that was meant."""


def store_for(actor: Actor, whole: Store) -> Store:
    """The store as this actor sees it."""
    match actor:
        case Holder():
            return member_store(whole, actor)
        case AgentOf():
            return AgentStore(whole, actor.run)
        case _:
            return whole


class Settings:
    """The settings in force, shared by all who act on one fleet."""

    def __init__(self, config: Config) -> None:
        self.config = config


class Core:
    """One fleet for one actor. `Fleet` and `Dispatch` share it; only they use it.

    `store` is what the actor sees of the `whole_store`.
    """

    def __init__(
        self, store: Store, config: Config, home: Path, checks: DraftChecks, actor: Actor = HUMAN
    ) -> None:
        self.whole_store = store
        self.store = store_for(actor, store)
        self.checks = checks
        self.home = home
        self.actor = actor
        self.redaction = Redaction()
        self.expected: int | None = None
        """The version that a task must have to be changed, if the caller states one."""
        self.receipt: Receipt | None = None
        """What is kept with the next write, so that the same request is not carried out twice."""
        self.guesses = Guesses()
        self.board_readers: dict[Actor, BoardReader] = {}
        """What this process has read of the log for each actor's board."""
        self._settings = Settings(config)

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)  # at every request, and a quarter of `copy`'s time
        return other

    def acting_as(self, actor: Actor) -> Self:
        """The same fleet for another actor; an agent or a member can only be itself."""
        access.refuse_impersonation(self.actor, actor)
        other = copy(self)
        other.actor = actor
        other.store = store_for(actor, self.whole_store)
        return other

    def hiding(self, secrets: Iterable[str]) -> Self:
        """The same fleet, which stores none of these values."""
        other = copy(self)
        other.redaction = Redaction(secrets)
        return other

    @property
    def config(self) -> Config:
        """The settings in force, for every actor of this process."""
        return self._settings.config

    @config.setter
    def config(self, new: Config) -> None:
        self._settings.config = new

    @property
    def team(self) -> str | None:
        """The team of the token with which the actor asks."""
        return self.actor.team if isinstance(self.actor, Holder) else None

    async def own_team(self) -> str | None:
        """The team of the actor: its token's, or that of its run's task, if it has one."""
        return await self.store.team() or None if isinstance(self.store, TeamStore) else None

    async def permit(self, right: Right, *tasks: Task) -> None:
        """Refuse what the actor may not do, or not to these tasks."""
        access.refuse(self.actor, right)
        for task in tasks if self.team else ():
            if task.team != self.team:
                raise await self._no_task(task.id)
        run = await self.asking()
        for task in tasks if run else ():
            if run and run.task not in {each.id for each in await lineage.above(self.store, task)}:
                raise Forbidden(
                    f"{task.id} is not a task that {run.task} created",
                    hint=f"an agent may {right} only its own tasks; to ask a human, use ask_human",
                )

    async def asking(self) -> Run | None:
        """The run whose agent is the actor, refused once it is over; None for other actors."""
        if not isinstance(self.actor, AgentOf):
            return None
        found = await self.store.runs(ids=[self.actor.run])
        if not found or not found[0].is_live:
            raise Refused(f"the run {self.actor.run} is over", hint="only a live run can act")
        return found[0]

    async def write(self, step: Write, *, verbatim: str = "") -> Write:
        """Do all of one step or nothing; return it as it was stored: redacted, its events numbered.

        Its events say by whom. A note that is `verbatim` stays: a human wrote it for an agent.
        """
        clean, by = self.redaction.noun, str(self.actor)
        stored = step._replace(
            tasks=[task if task.note == verbatim else clean(task) for task in step.tasks],
            runs=[clean(run) for run in step.runs],
            records=[clean(record) for record in step.records],
            events=[clean(told).evolve(by=by) for told in step.events],
        )
        return stored._replace(events=await self._write_once(stored))

    async def _write_once(self, step: Write) -> Sequence[Event]:
        if self.receipt is None:
            return await self.store.write(step)
        kept = self.receipt.evolve(made=receipts.made_by(step), at=await self.store.now())
        try:
            told = await self.store.write(step._replace(records=[*step.records, kept]))
        except Stale:
            if made := await receipts.made_before(self.store, self.receipt):
                raise AlreadyDone(made) from None
            raise
        self.receipt = None
        return told

    @property
    def host(self) -> str:
        """This machine's name in the fleet."""
        return self.config.host or socket.gethostname()

    @property
    def lease(self) -> timedelta:
        return timedelta(seconds=self.config.lease_s)

    async def get(self, ref: str) -> Task:
        """The task with this id, or the only one whose id begins with it."""
        found = await self.store.tasks(TaskQuery(ids=[TaskId(ref)]))
        if found:
            return found[0]
        ids = await self.store.matching(ref) if re.fullmatch(r"[a-z0-9]{2,}", ref) else ()
        if len(ids) > 1:
            raise Invalid(f"{ref} could be {', '.join(ids)}", hint="type more of the id")
        if not ids:
            raise await self._no_task(ref)
        return (await self.store.tasks(TaskQuery(ids=ids)))[0]

    async def _no_task(self, ref: str) -> NotFound:
        """The error for an unknown id: it may be mistyped, or belong to a workflow."""
        recent = await self.store.tasks(TaskQuery(limit=COMPARED, newest_first=True))
        if any(flow.id == ref for flow in await self.store.records(Workflow, ids=[ref])):
            hint = f"{ref} is a workflow: `fleet workflow show {ref}`"
        else:
            ids = [task.id for task in recent]
            hint = did_you_mean(ref[:80], ids, "`fleet list --all` shows every task")
        return NotFound(f"no task {ref[:80]}", hint=hint)

    async def fallout(self, task: Task, now: datetime) -> Write:
        """What a failed or cancelled stage takes with it: all stages that can never start now."""
        if task.stage is None or task.state not in (State.FAILED, State.CANCELLED):
            return Write()
        doomed, why = (
            cascade.doomed(task, await lineage.stages(self.store, task)),
            cascade.note(task),
        )
        because = {"note": why, "cancelled_by": task.id, "updated_at": now}
        return Write(
            tasks=[move(each, Verb.CANCEL, fence=each.fence + 1, **because) for each in doomed],
            events=[event("task.cancelled", now, why, task=each) for each in doomed],
        )

    async def withdrawn(self, tasks: Sequence[Task], now: datetime) -> Sequence[Question]:
        """The questions of cancelled tasks, closed, since nobody waits for the answers."""
        ids = [task.id for task in tasks if task.state is State.CANCELLED]
        asked = await self.store.records(Question, tasks=ids, open_only=True) if ids else ()
        if not asked:
            return ()
        over = {"answered_at": now, "answered_steady": await self.store.steady()}
        return [q.evolve(**over, version=q.version + 1) for q in asked]

    async def change(
        self, ref: str, step: Callable[[Task], Awaitable[Write]], *, verbatim: str = ""
    ) -> Task:
        """Read a task, compute the step and write it; retry if someone else was first.

        A note that the task already has is not redacted again.
        """
        for _ in range(TRIES):
            task = await self.get(ref)
            refuse_outdated(self, task)
            written = await step(task)
            try:
                stored = await self.write(written, verbatim=verbatim or task.note)
            except Stale:
                continue
            return stored.tasks[0]
        raise Stale(f"{ref} keeps changing", hint="try again")


async def may(core: Core, right: Right, *tasks: Task) -> bool:
    """May the actor do this, to these tasks?"""
    try:
        await core.permit(right, *tasks)
    except FleetError:
        return False
    return True


def refuse_outdated(core: Core, task: Task) -> None:
    """Refuse to change a task that is no longer as the caller has seen it."""
    if core.expected not in (None, task.version):
        raise Outdated(
            f"{task.id} is at version {task.version}, not {core.expected}",
            hint="read it again, and repeat your change if it still applies",
        )
