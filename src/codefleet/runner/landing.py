"""The lane: one runner at a time lands finished work on a repo's trunk, task by task."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from codefleet.config import Config
from codefleet.domain.errors import BadConfig, FleetError, IllegalMove, StoreTrouble, Workspace
from codefleet.domain.model import Check, Evidence, Lane, Repo, Run, RunnerId, Task
from codefleet.domain.words import Landing, Reason, State
from codefleet.fleet import Fleet
from codefleet.runner import custody, evidence
from codefleet.runner.borrowed import withheld
from codefleet.runner.branches import Branches, Moved, restored
from codefleet.runner.crash import record
from codefleet.runner.desk import Desk
from codefleet.runner.repos import trunk
from codefleet.runner.repos.git import Git
from codefleet.runner.repos.remote import Remote
from codefleet.runner.repos.run_refs import drop_run_refs
from codefleet.runner.repos.salvage import drop_branch, is_ancestor
from codefleet.runner.repos.seed import Seed, sow
from codefleet.runner.repos.shared_settings import LANE, SharedSettings
from codefleet.runner.workload import Workload


class Lanes:
    """Lands what may land, repo by repo; reports what blocks the rest."""

    def __init__(self, work: Workload, holder: RunnerId, when_done: Callable[[], None]) -> None:
        self.desk, self.fleet, self.holder = work.desk, work.fleet, holder
        self._workload, self._when_done = work, when_done
        self.waits = False
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._untidied: list[tuple[Task, Repo]] = []

    async def turn(self, dead: Collection[str]) -> None:
        """Start the lane of every repo that has something to land and is not already landing."""
        waiting = {task.repo for task in await self._workload.landable()} - set(self._busy)
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
        lane = await self.fleet.take_lane(name, self.holder, dead)
        if lane is None:
            self.waits = True
            return
        async with self._kept(lane):
            self.waits = False
            for task in await self._workload.landable():
                if task.repo == name and not await self._land(task):
                    self.waits = True

    async def _land(self, task: Task) -> bool:
        """Land one task; False if it must wait."""
        grip = Grip(self.fleet, task)
        try:
            repo = await self.desk.repo(task.repo)
            settings = self.desk.settings(repo)
            if bad := self.desk.unusable([repo]):
                raise BadConfig(bad[repo.name])
            if not await self._may_land(task, repo, settings):
                return False
            async with self._guarded(task, repo):
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
            case Moved() as moved:
                what = await Branches(repo, self.desk.remote(repo)).difference(moved)
                await self.fleet.unapprove(grip.task, f"it changed after it was approved: {what}")
            case trunk.Waits(why):
                await self.fleet.waits(await grip.loosened(), why)
                return False
        return True

    @asynccontextmanager
    async def _guarded(self, task: Task, repo: Repo) -> AsyncIterator[None]:
        """Protect git's settings: the checks of a landing run code that agents wrote."""
        shared = SharedSettings(Path(repo.path), self.desk.places.git_settings(repo.name))

        async def live() -> Collection[str]:
            return {each.id for each in await self.fleet.live_runs()}

        changed = await shared.begin(LANE, live)
        try:
            yield
        finally:
            run = (await self.fleet.runs_of(task.id))[-1]
            for text in [*changed.told(), *(await shared.compare()).told()]:
                await self.fleet.warn(run, text)
            await shared.finish(LANE)

    async def _may_land(self, task: Task, repo: Repo, settings: Config) -> bool:
        """Is everything that would land its own work? If not, it waits or goes to review."""
        if await self.fleet.landing_of(task, settings.landing) is not Landing.QUEUE:
            return True  # a human has seen all of it
        tip = str(task.approved_commit or (await self.fleet.runs_of(task.id))[-1].made)
        if others := await withheld(self.fleet, repo, task, tip, settings.landing):
            names = ", ".join(f"{each.id} ({each.title})" for each in others)
            why = f"it contains work that nobody has approved: of {names}"
            await self.fleet.send_to_review(task, why)
            return False
        return await self._has_landed_base(task, repo)

    async def _has_landed_base(self, task: Task, repo: Repo) -> bool:
        """Does the trunk have the base of an agent's task?"""
        if not (task.parent and task.base):
            return True
        if await is_ancestor(Git(Path(repo.path)), task.base, repo.trunk_ref):
            return True
        above = await self.fleet.get(task.parent)
        if above.state.is_final:
            why = f"it contains work of {above.id} that has not landed; {above.id} is {above.state}"
            await self.fleet.send_to_review(task, why)
        else:
            await self.fleet.waits(task, f"waits for {above.id}: it contains work of that task")
        return False

    async def _write_down(self, task: Task, commit: str) -> None:
        """Record the landing; a lane that took over from a frozen one may have done so already."""
        try:
            await self.fleet.landed(task.id, commit)
        except IllegalMove:
            if (await self.fleet.get(task.id)).state is not State.COMPLETED:
                raise

    async def _try(self, grip: "Grip", repo: Repo, settings: Config) -> trunk.Result | Moved:
        places, task = self.desk.places, grip.task
        run = (await self.fleet.runs_of(task.id))[-1]
        commands = (*settings.checks, *task.checks)
        folder = places.run(run) / "evidence"
        remote = self.desk.remote(repo)

        async def checks(worktree: Path) -> Check | None:
            await sow(Seed(Path(repo.path), repo.trunk_ref), worktree)
            for number, command in enumerate((*filter(None, [settings.setup]), *commands)):
                log = folder / f"landing-{number}.log"
                if failed := await self._check(command, worktree, settings, log):
                    return failed
            return None

        with self.desk.roads.watched(repo.name):
            tip = await self._approved(task, repo, run, remote)
            if isinstance(tip, Moved):
                return tip
            return await trunk.land(
                Path(repo.path),
                repo.trunk,
                tip,
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
        """Run one command in the lane's worktree; None if it succeeded."""
        done = await evidence.check(
            command,
            worktree,
            env=custody.environment(settings.environment, {}),
            log=log,
            timeout_s=settings.check_timeout_s,
        )
        return None if done.passed else done

    async def _approved(
        self, task: Task, repo: Repo, run: Run, remote: Remote | None
    ) -> str | Moved:
        """The commit that may land. If somebody else moved its branch, the branch is restored.

        Commits on top of it may be a human's, so a human has to review them.
        """
        tip, branches = str(task.approved_commit or run.made), Branches(repo, remote)
        moved = await branches.compare(str(task.branch), tip)
        if moved is None or await branches.has_landed(tip):  # by a lane that was killed afterwards
            return tip
        if not await branches.has(tip):
            raise Workspace(
                f"{run.host} made {tip[:10]} for {task.id}, and {repo.path} does not have it",
                hint=f"push {task.branch} again, or `fleet reject {task.id} WHY`",
            )
        if moved.is_ahead or (moved.found and await branches.is_checked_out(moved.branch)):
            return moved
        await self.fleet.warn(run, await restored(branches, moved))
        return tip

    async def _tidy(self, task: Task, repo: Repo) -> None:
        """Delete the landed branch; a failure is harmless and is retried later."""
        if task.branch:
            try:
                if remote := self.desk.remote(repo):
                    await remote.drop(task.branch)
                await drop_branch(Path(repo.path), task.branch, repo.trunk_ref, task.id)
                await drop_run_refs(Path(repo.path), [task.id])
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
            with suppress(StoreTrouble):  # a busy store may recover
                lane = await self.fleet.keep_lane(lane)


class Grip:
    """A task that the lane is landing, at the version the lane knows."""

    def __init__(self, fleet: Fleet, task: Task) -> None:
        self.fleet, self.task = fleet, task

    async def tightened(self) -> bool:
        """Lock the task while the trunk moves; False if it changed meanwhile."""
        if self.task.landing:
            return True
        held = await self.fleet.begin_landing(self.task)
        self.task = held or self.task
        return held is not None

    async def loosened(self) -> Task:
        """The task as the lane last knew it, unlocked."""
        if self.task.landing:
            self.task = await self.fleet.end_landing(self.task) or self.task
        return self.task


def _proved(found: Evidence | None, commands: Sequence[str]) -> str | None:
    """The tree on which exactly these commands succeeded when the run ended, if they did."""
    if found is None or tuple(check.command for check in found.checks) != tuple(commands):
        return None
    return found.tree if found.checks_passed else None


def _rewritten(task: Task, repo: Repo, lost: str) -> str:
    lost = lost[:10]
    return (
        f"{repo.trunk} was rewritten: it no longer has {lost}, which this work builds on and would "
        f"bring back; `git branch rebased {task.branch}`, `git rebase --onto {repo.trunk} {lost} "
        f"rebased` and `fleet land {task.id} --commit rebased` land the work without it, "
        f"`git merge {task.branch}` takes both"
    )


async def land_now(desk: Desk) -> None:
    """Land what may land without a runner: for a human who approves while none is running."""
    hand = RunnerId(f"hand-{os.getpid()}")
    lanes = Lanes(Workload(desk), hand, when_done=lambda: None)
    await lanes.turn(dead=())
    await lanes.finish()
