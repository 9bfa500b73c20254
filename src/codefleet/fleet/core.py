"""What every verb stands on: the store, the settings, and the way a task is changed."""

import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from codefleet.config import Config
from codefleet.domain import fallout
from codefleet.domain.errors import Invalid, NotFound, Refused, Stale
from codefleet.domain.events import event
from codefleet.domain.lifecycle import Attempts, Verb, move
from codefleet.domain.model import Question, Task, TaskId
from codefleet.domain.words import State
from codefleet.ports import Store, TaskQuery, Write

TRIES = 100


class Core:
    """The store and the settings. The verbs live in the classes that stand on this one."""

    def __init__(self, store: Store, config: Config, home: Path) -> None:
        self.store = store
        self.config = config
        self.home = home

    @property
    def host(self) -> str:
        """This machine's name in the fleet."""
        return self.config.host or socket.gethostname()

    def mirror(self, repo: str) -> Path:
        """Where this machine keeps a shared repo that its user has no clone of."""
        return self.home / "mirrors" / f"{repo}.git"

    async def now(self) -> datetime:
        """The time by which leases, limits and waits are judged."""
        return await self.store.now()

    async def about_store(self) -> str:
        """Which store it is and where, for people; it holds no secret."""
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
        """The task with this id, or the only one whose id begins so."""
        found = await self.store.tasks(TaskQuery(ids=[TaskId(ref)]))
        if found:
            return found[0]
        ids = await self.store.matching(ref) if re.fullmatch(r"[a-z0-9]{2,}", ref) else ()
        if len(ids) > 1:
            raise Invalid(
                f"{ref} could be {', '.join(ids)}", hint="type more of the id, so that one is left"
            )
        if not ids:
            raise NotFound(f"no task {ref[:80]}", hint="`fleet list --all` shows every task")
        return (await self.store.tasks(TaskQuery(ids=ids)))[0]

    def refuse_foreign(self, path: str) -> None:
        """Refuse a repository outside the folders that the settings allow."""
        allowed = [Path(each).expanduser().resolve() for each in self.config.allowed_repos]
        if allowed and not any(Path(path).resolve().is_relative_to(each) for each in allowed):
            raise Refused(
                f"the fleet may not work on {path[:200]}",
                hint=f"allowed_repos has: {', '.join(self.config.allowed_repos)}",
            )

    async def list(self, query: TaskQuery) -> Sequence[Task]:
        """The tasks that fit, most urgent first."""
        return await self.store.tasks(query)

    async def fallout(self, task: Task, now: datetime) -> Write:
        """What a stage that ended badly takes with it: all that needs it can never start."""
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
        """The questions of tasks that are cancelled, closed: nobody waits for an answer now."""
        ids = {task.id for task in tasks if task.state is State.CANCELLED}
        asked = await self.store.questions(open_only=True) if ids else ()
        return [q.evolve(answered_at=now, version=q.version + 1) for q in asked if q.task in ids]

    async def _stages(self, task: Task) -> Sequence[Task]:
        """All tasks of the workflow that this one is a stage of."""
        if task.stage is None:
            return ()
        (flow,) = await self.store.workflows(ids=[task.stage.workflow])
        return await self.store.tasks(TaskQuery(ids=flow.tasks))

    async def change(self, ref: str, step: Callable[[Task], Awaitable[Write]]) -> Task:
        """Read a task, work out the step, write it; once more when somebody else was first."""
        for _ in range(TRIES):
            task = await self.get(ref)
            written = await step(task)
            try:
                await self.store.write(written)
            except Stale:
                continue
            return written.tasks[0]
        raise Stale(f"{ref} changes too fast to be changed", hint="try again")
