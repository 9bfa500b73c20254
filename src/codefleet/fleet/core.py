"""What every verb builds on: the store, the settings, and the way to change a task."""

import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from codefleet.config import Config
from codefleet.domain import access, fallout
from codefleet.domain.errors import Invalid, NotFound, Refused, Stale
from codefleet.domain.events import event
from codefleet.domain.lifecycle import Attempts, Verb, move
from codefleet.domain.meant import did_you_mean
from codefleet.domain.model import Question, Run, RunId, Task, TaskId
from codefleet.domain.words import State
from codefleet.ports import Store, TaskQuery, Write

TRIES = 100
COMPARED = 1000
"""How many of the newest ids are searched for the one that was meant."""


class Core:
    """The store and the settings. The verbs are in the classes that build on this one."""

    def __init__(
        self, store: Store, config: Config, home: Path, caller: RunId | None = None
    ) -> None:
        self.store = store
        self.config = config
        self.home = home
        self.caller = caller
        """The run whose agent is asking; None for a human."""

    def acting_for(self, run: RunId) -> Self:
        """The same fleet, limited to what the agent of this run may do."""
        if self.caller not in (None, run):
            raise Refused(
                f"the agent of {self.caller} may not act for {run}", hint="use your own token"
            )
        return type(self)(self.store, self.config, self.home, run)

    async def permit(self, verb: str, *tasks: Task) -> None:
        """Refuse a verb that the calling agent may not use, or not on these tasks."""
        if self.caller is None:
            return
        access.refuse_agents(verb)
        by = (await self.asking()).task
        for task in tasks:
            if by not in {each.id for each in await self.above(task)}:
                raise Refused(
                    f"{task.id} is not a task that {by} created",
                    hint=f"an agent may {verb} only its own tasks; to ask a human, use ask_human",
                )

    async def asking(self) -> Run:
        """The live run whose agent is calling."""
        found = await self.store.runs(ids=[self.caller]) if self.caller else ()
        if not found or not found[0].is_live:
            raise Refused(f"the run {self.caller} is over", hint="only a live run can act")
        return found[0]

    async def above(self, task: Task) -> Sequence[Task]:
        """The tasks whose agents created this one, nearest first; none for a human's task."""
        found: list[Task] = []
        parent = task.parent
        while parent and (above := await self.store.tasks(TaskQuery(ids=[parent]))):
            found += above
            parent = above[0].parent
        return found

    @property
    def host(self) -> str:
        """This machine's name in the fleet."""
        return self.config.host or socket.gethostname()

    def mirror(self, repo: str) -> Path:
        """Where this machine keeps a shared repo of which its user has no clone."""
        return self.home / "mirrors" / f"{repo}.git"

    async def now(self) -> datetime:
        """The time of day: it dates events, and decides when a wait is over."""
        return await self.store.now()

    async def steady(self) -> datetime:
        """The time for leases and heartbeats; it never jumps on one machine."""
        return await self.store.steady()

    async def about_store(self) -> str:
        """The store and its location, for people; contains no secret."""
        return await self.store.about()

    @property
    def lease(self) -> timedelta:
        return timedelta(seconds=self.config.lease_s)

    def attempts(self, settings: Config) -> Attempts:
        return Attempts(
            limit=settings.attempts,
            first_rest=timedelta(seconds=settings.rest_s),
            longest_rest=timedelta(seconds=settings.longest_rest_s),
        )

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
        if any(flow.id == ref for flow in await self.store.workflows(ids=[ref])):
            hint = f"{ref} is a workflow: `fleet workflow show {ref}`"
        else:
            ids = [task.id for task in recent]
            hint = did_you_mean(ref[:80], ids, "`fleet list --all` shows every task")
        return NotFound(f"no task {ref[:80]}", hint=hint)

    def refuse_foreign(self, path: str) -> None:
        """Refuse a repository outside the folders that the settings allow."""
        allowed = [Path(each).expanduser().resolve() for each in self.config.allowed_repos]
        if allowed and not any(Path(path).resolve().is_relative_to(each) for each in allowed):
            raise Refused(
                f"the fleet may not work on {path[:200]}",
                hint=f"allowed_repos has: {', '.join(self.config.allowed_repos)}",
            )

    async def list(self, query: TaskQuery) -> Sequence[Task]:
        """The matching tasks, most urgent first."""
        return await self.store.tasks(query)

    async def last_made(self, task: Task) -> Run | None:
        """The last run of a task that has a commit the fleet has seen."""
        runs = await self.store.runs(tasks=[task.id])
        return next((run for run in reversed(runs) if run.made), None)

    async def fallout(self, task: Task, now: datetime) -> Write:
        """What a failed or cancelled stage takes with it: all stages that can never start now."""
        if task.stage is None or task.state not in (State.FAILED, State.CANCELLED):
            return Write()
        doomed, why = fallout.doomed(task, await self._stages(task)), fallout.note(task)
        return Write(
            tasks=[
                move(each, Verb.CANCEL, fence=each.fence + 1, updated_at=now, note=why)
                for each in doomed
            ],
            events=[event("task.cancelled", now, why, task=each) for each in doomed],
        )

    async def withdrawn(self, tasks: Sequence[Task], now: datetime) -> Sequence[Question]:
        """The questions of cancelled tasks, closed, since nobody waits for the answers."""
        ids = [task.id for task in tasks if task.state is State.CANCELLED]
        asked = await self.store.questions(tasks=ids, open_only=True) if ids else ()
        over = {"answered_at": now, "answered_steady": await self.store.steady()}
        return [q.evolve(**over, version=q.version + 1) for q in asked]

    async def _stages(self, task: Task) -> Sequence[Task]:
        """All tasks of the workflow that this one is a stage of."""
        if task.stage is None:
            return ()
        (flow,) = await self.store.workflows(ids=[task.stage.workflow])
        return await self.store.tasks(TaskQuery(ids=flow.tasks))

    async def change(self, ref: str, step: Callable[[Task], Awaitable[Write]]) -> Task:
        """Read a task, compute the step and write it; retry if someone else was first."""
        for _ in range(TRIES):
            task = await self.get(ref)
            written = await step(task)
            try:
                await self.store.write(written)
            except Stale:
                continue
            return written.tasks[0]
        raise Stale(f"{ref} keeps changing", hint="try again")
