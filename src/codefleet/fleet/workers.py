"""Workers: tasks with a handle, spawned, dismissed and looked at by it."""

from collections.abc import Sequence
from typing import Any

from codefleet.domain import worker
from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid
from codefleet.domain.model import Draft, Event, Run, Task
from codefleet.domain.validation import checked
from codefleet.domain.words import UNFINISHED
from codefleet.domain.worker import Worker
from codefleet.fleet import lineage, output
from codefleet.fleet.lookup import last_worker, live_worker
from codefleet.fleet.runs import Runs
from codefleet.fleet.tasks import Tasks
from codefleet.fleet.viewer import own_handle, viewer
from codefleet.ports import TaskQuery

MOST_URGENT = 5


class Workers(Tasks, Runs):
    async def spawn(self, handle: str, prompt: str, **fields: Any) -> Task:
        """Put an agent to work under a handle, as soon as a seat is free; `fields` are those of a
        task.

        Refused while a worker of the team has that handle.
        """
        await self.core.permit(Right.SPAWN)
        (task,) = await self.add([self._worker(handle, prompt, **fields)])
        return task

    def _worker(self, handle: str, prompt: str, **fields: Any) -> Draft:
        """The draft of a worker's task."""
        if not prompt.strip():
            raise Invalid("a worker needs a prompt", hint='fleet spawn HANDLE "what to do"')
        title = worker.heading(prompt) or f"Worker {handle}"
        usual = {"title": title, "priority": MOST_URGENT}
        said = {name: value for name, value in fields.items() if value is not None}
        return checked(Draft, {**usual, **said, "handle": handle, "prompt": prompt})

    async def dismiss(self, handle: str) -> Task:
        """End a worker, named by its handle or its task: all its processes stop, and its work is
        archived."""
        return await self.cancel((await live_worker(self.core, handle)).id)

    async def workers(self, swarm: str | None = None) -> Sequence[Worker]:
        """The workers that have not ended, of all swarms or of one; the oldest first."""
        asked = TaskQuery(workers=True, swarm=swarm)
        unfinished = await self.core.store.tasks(asked._replace(states=UNFINISHED))
        live = [run.task for run in await self.core.store.runs(live=True)]
        ending = await self.core.store.tasks(asked._replace(ids=live)) if live else ()
        sees = (await viewer(self.core)).sees
        found = {task.id: task for task in (*unfinished, *ending) if sees(task)}
        return await self._views(sorted(found.values(), key=lambda task: task.created_at))

    async def worker(self, handle: str, team: str | None = None) -> Worker:
        """The worker with this handle, or the last one that had it; a task names its worker too.

        Refused if several teams have one: name the team, or the task.
        """
        (seen,) = await self._views([await last_worker(self.core, handle, team)])
        return seen

    async def own_handle(self) -> str:
        """The handle of who asks: that of an agent's task, or else the task's id."""
        return await own_handle(self.core)

    async def _views(self, tasks: Sequence[Task]) -> Sequence[Worker]:
        ids = [task.id for task in tasks]
        runs = {run.task: run for run in await self.core.store.runs(tasks=ids)}
        beats = await self.heartbeats(runs.values())
        silent = {run for run, last in beats.last.items() if beats.at - last > self.core.lease}
        views = [await self._view(task, runs.get(task.id), silent) for task in tasks]
        may = await output.readable(self.core, ids)
        return [view if view.task in may else view.evolve(worktree=None) for view in views]

    async def _view(self, task: Task, run: Run | None, silent: set[Any]) -> Worker:
        told = await self._signs(task) if run and run.is_live else ()
        return Worker(
            handle=task.handle or task.id,
            task=task.id,
            run=run.id if run else None,
            state=worker.state_of(task, run),
            health=worker.health_of(task, run, is_silent=bool(run and run.id in silent), last=told),
            team=task.team,
            swarm=task.swarm,
            worktree=run.worktree if run else None,
            session=run.session if run else None,
            spawned_at=task.created_at,
            restarts=max(0, task.runs - 1),
            depth=len(await lineage.above(self.core.store, task)),
        )

    async def _signs(self, task: Task) -> Sequence[Event]:
        kinds = (worker.QUIET, *worker.SIGNS_OF_LIFE)
        store = self.core.whole_store  # who may not read output may know that there is some
        return await store.events(task=task.id, kinds=kinds, limit=1, newest=True)
