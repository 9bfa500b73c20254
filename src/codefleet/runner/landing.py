"""The lane: one runner at a time brings finished work onto a repo's trunk, piece by piece."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from codefleet.config import Config
from codefleet.domain.errors import FleetError, Stale
from codefleet.domain.model import Check, Lane, Reason, Repo, RunnerId, Task
from codefleet.runner import custody, evidence, trunk
from codefleet.runner.desk import Desk
from codefleet.runner.git import Git
from codefleet.runner.salvage import drop_branch
from codefleet.runner.seed import sow


class Landing:
    """Lands what may land, repo by repo; says what is in the way of the rest."""

    def __init__(self, desk: Desk, holder: RunnerId, when_done: Callable[[], None]) -> None:
        self.desk, self.fleet, self.holder = desk, desk.fleet, holder
        self._when_done = when_done
        self.waits = False
        self._busy: dict[str, asyncio.Task[None]] = {}

    async def turn(self, dead: Collection[str]) -> None:
        """Start the lane of every repo that has something to land and is not at it already."""
        for name in {task.repo for task in await self.fleet.landable()} - set(self._busy):
            work = asyncio.create_task(self._work(name, dead))
            self._busy[name] = work
            work.add_done_callback(partial(self._done, name))

    def _done(self, name: str, work: asyncio.Task[None]) -> None:
        del self._busy[name]
        self._when_done()

    async def finish(self) -> None:
        """Let landings under way come to their end."""
        await asyncio.gather(*self._busy.values(), return_exceptions=True)

    async def _work(self, name: str, dead: Collection[str]) -> None:
        lane = await self.fleet.take_lane(name, self.holder, dead)
        if lane is None:
            self.waits = True
            return
        async with self._kept(lane):
            self.waits = False
            for task in await self.fleet.landable():
                if task.repo == name and not await self._land(task):
                    self.waits = True

    async def _land(self, task: Task) -> bool:
        """Land one task; False when it must wait."""
        try:
            repo = await self.desk.repo(task.repo)
            settings = self.desk.settings(repo)
            found = await self._try(task, repo, settings)
        except FleetError as trouble:
            await self.fleet.waits(task.id, trouble.problem)
            return False
        match found:
            case trunk.Landed(commit):
                await self._tidy(task, repo)  # first, so that a crash in between leaves no branch
                await self.fleet.landed(task.id, commit)
            case trunk.Conflicts(paths):
                note = f"it conflicts with {repo.trunk} in {', '.join(paths[:10])}"
                await self.fleet.bounce(task.id, Reason.MERGE_CONFLICT, note, settings)
            case trunk.Red(check):
                note = f"on top of {repo.trunk}, `{check.command}` fails\n{check.tail}"
                await self.fleet.bounce(task.id, Reason.CHECKS_FAILED, note, settings)
            case trunk.Waits(why):
                await self.fleet.waits(task.id, why)
                return False
        return True

    async def _try(self, task: Task, repo: Repo, settings: Config) -> trunk.Result:
        places = self.desk.places
        journal = places.journal(repo.name)
        run = (await self.fleet.store.runs(tasks=[task.id]))[-1]
        tested = run.evidence.tree if run.evidence and run.evidence.checks_passed else None

        commands = (*settings.checks, *task.checks)
        folder = places.run(run) / "evidence"

        async def checks(worktree: Path) -> Check | None:
            await sow(Path(repo.path), worktree)
            for number, command in enumerate((*filter(None, [settings.setup]), *commands)):
                log = folder / f"landing-{number}.log"
                if failed := await self._check(command, worktree, settings, log):
                    return failed
            return None

        return await trunk.land(
            Path(repo.path),
            repo.trunk,
            await self._tip(task, repo, run.evidence.tip if run.evidence else None),
            message=f"{task.title}\n\nFleet-Task: {task.id}\nFleet-Run: {run.id}",
            workspace=places.lane(repo.name),
            journal=journal,
            checks=checks if commands else None,
            tested_tree=tested,
            keep=settings.keep,
        )

    async def _check(
        self, command: str, worktree: Path, settings: Config, log: Path
    ) -> Check | None:
        """Run one command in the lane's worktree; None when it succeeded."""
        done = await evidence.check(
            command,
            worktree,
            env=custody.environment(settings.environment, {}),
            log=log,
            timeout_s=settings.check_timeout_s,
        )
        return None if done.passed else done

    async def _tip(self, task: Task, repo: Repo, seen: str | None) -> str:
        """The branch as it stands now: a human may have mended it during the review."""
        git = Git(Path(repo.path))
        found = await git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{task.branch}")
        return found.out.strip() or str(seen)

    async def _tidy(self, task: Task, repo: Repo) -> None:
        """The branch is on the trunk, so it may go; a failure here harms nothing."""
        if task.branch:
            try:
                await drop_branch(Path(repo.path), task.branch, repo.trunk, task.id)
            except FleetError:
                return

    @asynccontextmanager
    async def _kept(self, lane: Lane) -> AsyncIterator[None]:
        renewal = asyncio.create_task(self._renew(lane))
        try:
            yield
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)
            await self._leave(lane.repo)

    async def _renew(self, lane: Lane) -> None:
        while True:
            await asyncio.sleep(self.fleet.lease.total_seconds() / 3)
            lane = await self.fleet.keep_lane(lane)

    async def _leave(self, repo: str) -> None:
        ours = [
            lane
            for lane in await self.fleet.store.lanes()
            if lane.repo == repo and lane.holder == self.holder
        ]
        for lane in ours:
            try:
                await self.fleet.leave_lane(lane)
            except Stale:
                return


async def land_now(desk: Desk) -> None:
    """Land what may land without a runner: for a human who approves while none is at work."""
    hand = RunnerId(f"hand-{os.getpid()}")
    landing = Landing(desk, hand, when_done=lambda: None)
    await landing.turn(dead=())
    await landing.finish()
