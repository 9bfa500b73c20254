"""Landing one task: may it land, does it merge and pass the checks, and what follows."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from codefleet.config import Config
from codefleet.domain.errors import BadConfig, FleetError, IllegalMove, WorkspaceTrouble
from codefleet.domain.landing_modes import lands_by_itself
from codefleet.domain.model import Check, Evidence, Repo, Run, Task
from codefleet.domain.words import Reason, State
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.context import Context
from codefleet.runner.git.config_guard import LANE, SharedSettings
from codefleet.runner.git.git import Git
from codefleet.runner.git.included_files import IncludedFiles, copy_included
from codefleet.runner.git.lookup import is_ancestor
from codefleet.runner.landing import merge
from codefleet.runner.landing.foreign_work import unapproved_work
from codefleet.runner.process import custody
from codefleet.runner.run import evidence
from codefleet.runner.run.task_branches import Branches, Moved, restored
from codefleet.runner.run.workspace import Workspace
from codefleet.runner.sharing.remote import Remote


class TaskLanding:
    """Lands tasks for a lane, one after the other."""

    def __init__(self, context: Context, tidy: Callable[[Task, Repo], Awaitable[None]]) -> None:
        """`tidy` removes what landed work no longer needs."""
        self.context, self.fleet, self._tidy = context, context.fleet, tidy
        self.dispatch = context.dispatch

    async def land(self, task: Task) -> bool:
        """Land one task; False if it must wait."""
        lock = LandingLock(self.dispatch, task)
        try:
            repo = await self.context.repo(task.repo)
            settings = self.context.settings(repo)
            if bad := self.context.unusable([repo]):
                raise BadConfig(bad[repo.name])
            if not await self._may_land(task, repo, settings):
                return False
            async with self._guarded(task, repo):
                found = await self._try(lock, repo, settings)
        except FleetError as trouble:
            await self.dispatch.record_landing_wait(await lock.release(), trouble.problem)
            return False
        return await self._record(found, lock, repo, settings)

    async def _record(
        self, found: merge.Result | Moved, lock: "LandingLock", repo: Repo, settings: Config
    ) -> bool:
        """Record how the merge went; False if the task must wait."""
        task = lock.task
        match found:
            case merge.Landed(commit):
                await self._tidy(task, repo)  # first, so that a crash in between leaves no branch
                await self._record_landing(task, commit)
            case merge.Conflicts(paths):
                note = f"it conflicts with {repo.trunk} in {', '.join(paths[:10])}"
                await self.dispatch.send_back(
                    await lock.release(), Reason.MERGE_CONFLICT, note, settings
                )
            case merge.Red(check):
                note = f"on top of {repo.trunk}, `{check.command}` fails\n{check.tail}"
                await self.dispatch.send_back(
                    await lock.release(), Reason.CHECKS_FAILED, note, settings
                )
            case merge.Rewritten(lost):
                await self.dispatch.record_landing_wait(
                    await lock.release(), _rewritten(task, repo, lost)
                )
                return False
            case Moved() as moved:
                what = await Branches(repo, self.context.remote(repo)).difference(moved)
                await self.dispatch.unapprove(
                    lock.task, f"it changed after it was approved: {what}"
                )
            case merge.Waits(why):
                await self.dispatch.record_landing_wait(await lock.release(), why)
                return False
        return True

    @asynccontextmanager
    async def _guarded(self, task: Task, repo: Repo) -> AsyncIterator[None]:
        """Protect git's settings: the checks of a landing run code that agents wrote."""
        shared = SharedSettings(Path(repo.path), self.context.paths.git_settings(repo.name))

        async def live() -> Collection[str]:
            return {each.id for each in await self.dispatch.live_runs()}

        changed = await shared.begin(LANE, live)
        try:
            yield
        finally:
            run = (await self.fleet.runs_of(task.id))[-1]
            for text in [*changed.told(), *(await shared.compare()).told()]:
                await self.dispatch.warn(run, text)
            await shared.finish(LANE)

    async def _may_land(self, task: Task, repo: Repo, settings: Config) -> bool:
        """Is everything that would land its own work? If not, it waits or goes to review."""
        if not lands_by_itself(await self.dispatch.landing_mode_of(task, settings.landing)):
            return True  # a human has seen all of it
        tip = str(task.approved_commit or (await self.fleet.runs_of(task.id))[-1].made)
        if others := await unapproved_work(self.fleet, repo, task, tip, settings.landing):
            names = ", ".join(f"{each.id} ({each.title})" for each in others)
            why = f"it contains work that nobody has approved: of {names}"
            await self.dispatch.send_to_review(task, why)
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
            await self.dispatch.send_to_review(task, why)
        else:
            await self.dispatch.record_landing_wait(
                task, f"waits for {above.id}: it contains work of that task"
            )
        return False

    async def _record_landing(self, task: Task, commit: str) -> None:
        """Record the landing; a lane that took over from a frozen one may have done so already."""
        try:
            await self.dispatch.landed(task.id, commit)
        except IllegalMove:
            if (await self.fleet.get(task.id)).state is not State.COMPLETED:
                raise

    async def _try(self, lock: "LandingLock", repo: Repo, settings: Config) -> merge.Result | Moved:
        paths, task = self.context.paths, lock.task
        run = (await self.fleet.runs_of(task.id))[-1]
        commands = (*settings.checks, *task.checks)
        folder = paths.run(run) / "evidence"
        remote = self.context.remote(repo)

        async def checks(worktree: Path) -> Check | None:
            await copy_included(IncludedFiles(Path(repo.path), repo.trunk_ref), worktree)
            for number, command in enumerate((*filter(None, [settings.setup]), *commands)):
                log = folder / f"landing-{number}.log"
                if failed := await self._check(command, worktree, settings, log):
                    return failed
            return None

        with self.context.reachability.watched(repo.name):
            tip = await self._approved(task, repo, run, remote)
            if isinstance(tip, Moved):
                return tip
            return await merge.land(
                Path(repo.path),
                repo.trunk,
                tip,
                message=f"{task.title}\n\nFleet-Task: {task.id}\nFleet-Run: {run.id}",
                workspace=paths.lane(repo.name),
                journal=paths.journal(repo.name),
                checks=checks if commands else None,
                tested_tree=_proved(run.evidence, commands),
                remote=remote,
                keep=settings.keep,
                last_look=lock.acquire,
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
        await Workspace(self.context, repo).pool.free(moved.branch)
        if not await branches.has(tip):
            raise WorkspaceTrouble(
                f"{run.host} made {tip[:10]} for {task.id}, and {repo.path} does not have it",
                hint=f"push {task.branch} again, or `fleet reject {task.id} WHY`",
            )
        if moved.is_ahead or (moved.found and await branches.is_checked_out(moved.branch)):
            return moved
        await self.dispatch.warn(run, await restored(branches, moved))
        return tip


class LandingLock:
    """A task that the lane is landing, at the version the lane knows."""

    def __init__(self, dispatch: Dispatch, task: Task) -> None:
        self.dispatch, self.task = dispatch, task

    async def acquire(self) -> bool:
        """Lock the task while the trunk moves; False if it changed meanwhile."""
        if self.task.is_landing:
            return True
        held = await self.dispatch.begin_landing(self.task)
        self.task = held or self.task
        return held is not None

    async def release(self) -> Task:
        """Unlock the task; return it as the lane last knew it."""
        if self.task.is_landing:
            self.task = await self.dispatch.end_landing(self.task) or self.task
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
