"""The lane: one runner at a time lands finished work on a repo's trunk, task by task."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from codefleet.domain.errors import FleetError, StoreTrouble
from codefleet.domain.model import Lane, Repo, RunnerId, Task
from codefleet.runner.context import Context
from codefleet.runner.crash_log import record
from codefleet.runner.git.branch import drop_branch
from codefleet.runner.git.run_refs import drop_landed, drop_run_refs
from codefleet.runner.landing.task_landing import TaskLanding
from codefleet.runner.workload import Workload


class Lanes:
    """Lands what may land, repo by repo; reports what blocks the rest."""

    def __init__(self, work: Workload, holder: RunnerId, when_done: Callable[[], None]) -> None:
        self.context, self.fleet, self.holder = work.context, work.fleet, holder
        self.dispatch = work.context.dispatch
        self._workload, self._when_done = work, when_done
        self.waits = False
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._untidied: list[tuple[Task, Repo]] = []

    async def turn(self, dead: Collection[str]) -> None:
        """Start the lane of every repo that has something to land and is not already landing."""
        waiting = {task.repo for task in await self._workload.in_lane()} - set(self._busy)
        for name in waiting - await self.context.out_of_reach():
            work = asyncio.create_task(self._work(name, dead))
            self._busy[name] = work
            work.add_done_callback(partial(self._done, name))

    def _done(self, name: str, work: asyncio.Task[None]) -> None:
        del self._busy[name]
        if not work.cancelled() and (surprise := work.exception()):
            record(self.context.paths.crash_log(), f"lane of {name}", surprise)
        self._when_done()

    def give_up(self) -> None:
        """Abort landings and their checks; the next lane starts again from the state in git."""
        for work in self._busy.values():
            work.cancel()

    async def finish(self) -> None:
        """Wait for landings in progress, and retry clean-ups that failed."""
        await asyncio.gather(*self._busy.values(), return_exceptions=True)
        left, self._untidied = self._untidied, []
        for task, repo in left:
            await self._tidy(task, repo)

    async def _work(self, name: str, dead: Collection[str]) -> None:
        lane = await self.dispatch.take_lane(name, self.holder, dead)
        if lane is None:
            self.waits = True
            return
        async with self._kept(lane):
            self.waits = False
            landing = TaskLanding(self.context, self._tidy)
            for task in await self._workload.in_lane():
                if task.repo == name and not await landing.land(task):
                    self.waits = True

    async def _tidy(self, task: Task, repo: Repo) -> None:
        """Delete the landed branch; a failure is harmless and is retried later."""
        if task.branch:
            try:
                if remote := self.context.remote(repo):
                    await remote.drop(task.branch)
                folder, trunk = Path(repo.path), repo.trunk_ref
                runs = [run.id for run in await self.fleet.runs_of(task.id)]
                if not await drop_landed(folder, task.branch, trunk, runs):
                    await drop_branch(folder, task.branch, trunk, task.id)
                    await drop_run_refs(folder, [task.id])
            except FleetError:
                self._untidied.append((task, repo))

    @asynccontextmanager
    async def _kept(self, lane: Lane) -> AsyncIterator[None]:
        renewal = asyncio.create_task(self._renew(lane))
        try:
            yield
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)
            await self.dispatch.leave_lane(lane.repo, self.holder)

    async def _renew(self, lane: Lane) -> None:
        while True:
            await asyncio.sleep(self.context.dispatch.lease.total_seconds() / 3)
            with suppress(StoreTrouble):  # a busy store may recover
                lane = await self.dispatch.keep_lane(lane)


async def land_now(context: Context) -> None:
    """Land what may land without a runner: for a human who approves while none is running."""
    hand = RunnerId(f"hand-{os.getpid()}")
    lanes = Lanes(Workload(context), hand, when_done=lambda: None)
    await lanes.turn(dead=())
    await lanes.finish()
