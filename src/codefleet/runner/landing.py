"""The lane: one runner at a time brings finished work onto a repo's trunk, piece by piece."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from codefleet.config import Config
from codefleet.domain.errors import FleetError, IllegalMove, StoreTrouble, Workspace
from codefleet.domain.model import Check, Evidence, Lane, Repo, RunnerId, Task
from codefleet.domain.words import Reason, State
from codefleet.fleet import Fleet
from codefleet.runner import custody, evidence
from codefleet.runner.crash import record
from codefleet.runner.desk import Desk
from codefleet.runner.repos import trunk
from codefleet.runner.repos.git import Git
from codefleet.runner.repos.remote import Remote
from codefleet.runner.repos.salvage import commit_at, drop_branch
from codefleet.runner.repos.seed import sow


class Lanes:
    """Lands what may land, repo by repo; says what is in the way of the rest."""

    def __init__(self, desk: Desk, holder: RunnerId, when_done: Callable[[], None]) -> None:
        self.desk, self.fleet, self.holder = desk, desk.fleet, holder
        self._when_done = when_done
        self.waits = False
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._untidied: list[tuple[Task, Repo]] = []

    async def turn(self, dead: Collection[str]) -> None:
        """Start the lane of every repo that has something to land and is not at it already."""
        waiting = {task.repo for task in await self.fleet.landable()} - set(self._busy)
        for name in waiting - await self.desk.out_of_reach():
            work = asyncio.create_task(self._work(name, dead))
            self._busy[name] = work
            work.add_done_callback(partial(self._done, name))

    def _done(self, name: str, work: asyncio.Task[None]) -> None:
        del self._busy[name]
        if not work.cancelled() and (surprise := work.exception()):
            record(self.desk.places.crash_log(), f"lane of {name}", surprise)
        self._when_done()

    def give_up(self) -> None:
        """End what is under way, checks too; the next lane begins it again from what git says."""
        for work in self._busy.values():
            work.cancel()

    async def finish(self) -> None:
        """Let landings under way come to their end, and clear up what could not be before."""
        await asyncio.gather(*self._busy.values(), return_exceptions=True)
        left, self._untidied = self._untidied, []
        for task, repo in left:
            await self._tidy(task, repo)

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
        grip = Grip(self.fleet, task)
        try:
            repo = await self.desk.repo(task.repo)
            settings = self.desk.settings(repo)
            found = await self._try(grip, repo, settings)
        except FleetError as trouble:
            await self.fleet.waits(await grip.loosened(), trouble.problem)
            return False
        match found:
            case trunk.Landed(commit):
                await self._tidy(task, repo)  # first, so that a crash in between leaves no branch
                await self._write_down(task, commit)
            case trunk.Conflicts(paths):
                note = f"it conflicts with {repo.trunk} in {', '.join(paths[:10])}"
                await self.fleet.bounce(
                    await grip.loosened(), Reason.MERGE_CONFLICT, note, settings
                )
            case trunk.Red(check):
                note = f"on top of {repo.trunk}, `{check.command}` fails\n{check.tail}"
                await self.fleet.bounce(await grip.loosened(), Reason.CHECKS_FAILED, note, settings)
            case trunk.Rewritten(lost):
                await self.fleet.waits(await grip.loosened(), _rewritten(task, repo, lost))
                return False
            case trunk.Waits(why):
                await self.fleet.waits(await grip.loosened(), why)
                return False
        return True

    async def _write_down(self, task: Task, commit: str) -> None:
        """The trunk has it; a lane that took over from a frozen one may have said so already."""
        try:
            await self.fleet.landed(task.id, commit)
        except IllegalMove:
            if (await self.fleet.get(task.id)).state is not State.COMPLETED:
                raise

    async def _try(self, grip: "Grip", repo: Repo, settings: Config) -> trunk.Result:
        places, task = self.desk.places, grip.task
        run = (await self.fleet.runs_of(task.id))[-1]
        commands = (*settings.checks, *task.checks)
        folder = places.run(run) / "evidence"
        remote = self.desk.remote(repo)

        async def checks(worktree: Path) -> Check | None:
            await sow(Path(repo.path), worktree)
            for number, command in enumerate((*filter(None, [settings.setup]), *commands)):
                log = folder / f"landing-{number}.log"
                if failed := await self._check(command, worktree, settings, log):
                    return failed
            return None

        with self.desk.roads.watched(repo.name):
            return await trunk.land(
                Path(repo.path),
                repo.trunk,
                await self._tip(task, repo, run.evidence.tip if run.evidence else None, remote),
                message=f"{task.title}\n\nFleet-Task: {task.id}\nFleet-Run: {run.id}",
                workspace=places.lane(repo.name),
                journal=places.journal(repo.name),
                checks=checks if commands else None,
                tested_tree=_proved(run.evidence, commands),
                remote=remote,
                keep=settings.keep,
                last_look=grip.tightened,
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

    async def _tip(self, task: Task, repo: Repo, seen: str | None, remote: Remote | None) -> str:
        """The branch as it stands now: a human may have mended it during the review."""
        git = Git(Path(repo.path))
        if remote is None:
            return await commit_at(git, f"refs/heads/{task.branch}") or str(seen)
        await remote.fetch(str(task.branch))
        tip = await remote.tip(str(task.branch)) or await commit_at(git, str(seen))
        if tip is None:
            raise Workspace(
                f"the remote of {repo.name} has no branch {task.branch}",
                hint=f"push it again, or `fleet reject {task.id} WHY`",
            )
        return tip

    async def _tidy(self, task: Task, repo: Repo) -> None:
        """The branch is on the trunk, so it may go; what fails here harms nothing and can wait."""
        if task.branch:
            try:
                if remote := self.desk.remote(repo):
                    await remote.drop(task.branch)
                await drop_branch(Path(repo.path), task.branch, repo.trunk_ref, task.id)
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
            await self.fleet.leave_lane(lane.repo, self.holder)

    async def _renew(self, lane: Lane) -> None:
        while True:
            await asyncio.sleep(self.fleet.lease.total_seconds() / 3)
            with suppress(StoreTrouble):  # a store that is busy now may not be in a while
                lane = await self.fleet.keep_lane(lane)


class Grip:
    """A task in the lane's hand, at the version the lane knows."""

    def __init__(self, fleet: Fleet, task: Task) -> None:
        self.fleet, self.task = fleet, task

    async def tightened(self) -> bool:
        """Hold the task fast while the trunk moves; False when it slipped away."""
        if self.task.landing:
            return True
        held = await self.fleet.begin_landing(self.task)
        self.task = held or self.task
        return held is not None

    async def loosened(self) -> Task:
        """The task as the lane last knew it, free again for everybody."""
        if self.task.landing:
            self.task = await self.fleet.end_landing(self.task) or self.task
        return self.task


def _proved(found: Evidence | None, commands: Sequence[str]) -> str | None:
    """The tree on which just these commands succeeded when the run ended, if they did."""
    if found is None or tuple(check.command for check in found.checks) != tuple(commands):
        return None
    return found.tree if found.checks_passed else None


def _rewritten(task: Task, repo: Repo, lost: str) -> str:
    lost = lost[:10]
    return (
        f"{repo.trunk} was rewritten: it no longer has {lost}, which this work stands on and would "
        f"bring back; `git rebase --onto {repo.trunk} {lost} {task.branch}` takes the work along "
        f"without it, `git merge {task.branch}` takes both"
    )


async def land_now(desk: Desk) -> None:
    """Land what may land without a runner: for a human who approves while none is at work."""
    hand = RunnerId(f"hand-{os.getpid()}")
    lanes = Lanes(desk, hand, when_done=lambda: None)
    await lanes.turn(dead=())
    await lanes.finish()
