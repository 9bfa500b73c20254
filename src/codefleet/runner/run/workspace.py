"""Where an agent works: a worktree from the repo's pool, on the task's branch, up to date."""

import asyncio
import re
from collections.abc import Awaitable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import FleetError, WorkspaceTrouble
from codefleet.domain.model import Evidence, Repo, Run, Task
from codefleet.domain.words import UNFINISHED
from codefleet.ports import TaskQuery
from codefleet.runner.context import Context
from codefleet.runner.git.archive import archive, label
from codefleet.runner.git.branch import missing
from codefleet.runner.git.config_guard import Changed, SharedSettings, forget_own
from codefleet.runner.git.git import Git
from codefleet.runner.git.included_files import IncludedFiles
from codefleet.runner.git.lookup import commit_at, head_commit, is_ancestor
from codefleet.runner.git.new_branch import branch_name
from codefleet.runner.git.own_branch import detach, force_to_head, restore_own
from codefleet.runner.git.quick_save import Saved, tip_of
from codefleet.runner.git.relink import relink
from codefleet.runner.git.slot_handover import Renew
from codefleet.runner.git.slots import is_work_of_another
from codefleet.runner.git.start_point import refuse_foreign_start
from codefleet.runner.git.worktree_pool import Pool
from codefleet.runner.process import custody
from codefleet.runner.process.leftovers import tag_of
from codefleet.runner.run import evidence, upstream
from codefleet.runner.run.both import both
from codefleet.runner.run.checkout_guard import CheckoutGuard
from codefleet.runner.run.merging import Merging
from codefleet.runner.run.task_branches import Branches, restored, task_of_branch
from codefleet.runner.sharing.sync import Sync

PLAIN_NAME = re.compile(r"[\w./-]+")


class Ready(NamedTuple):
    """A worktree to work in; `conflicts` are files with unresolved conflicts with the trunk."""

    path: Path
    branch: str
    base: str
    conflicts: tuple[str, ...]
    warnings: tuple[str, ...] = ()


class Workspace:
    def __init__(self, context: Context, repo: Repo) -> None:
        self.fleet, self.dispatch = context.fleet, context.dispatch
        self._known, self.name, self.repo = repo, repo.name, Path(repo.path)
        self._missing_trunks = context.missing_trunks
        self.trunk = repo.trunk_ref
        self.settings = context.settings(repo)
        paths = context.paths
        self.checkout = CheckoutGuard(repo, paths.journal(repo.name))
        self.pool = Pool(self.repo, paths.worktrees(repo.name), paths.lock(repo.name))
        self._git_settings = SharedSettings(self.repo, paths.git_settings(repo.name))
        remote = context.remote(repo)
        self.sync = Sync(remote, self.pool, context.reachability) if remote else None
        self._included = IncludedFiles(self.repo, self.trunk)
        self.merging = Merging(context, self.repo, self._included)
        self.saved: Saved | None = None
        """What the run's worktree is known to hold, if that is all."""

    async def begin(self, run: Run) -> Sequence[str]:
        """Record git's settings before an agent can change them; return what others changed."""

        async def live() -> Collection[str]:
            return {each.id for each in await self.dispatch.live_runs()}

        return await self._told(self._git_settings.begin(run.id, live))

    async def prepare(self, task: Task, run: Run, renew: Renew) -> Ready:
        """A worktree on the task's branch: fresh, or as the last run left it plus the trunk.

        The lease is renewed before the branch moves, so that a run that lost its task moves none.
        """
        branch = self.merging.branch = task.branch or branch_name(task.id, task.title)
        if self.sync:
            await self.sync.fetch(branch, *await self._others(task))
        trunk = await self._tip_of_trunk()
        start = await self._start(task, task.base) if task.base else trunk
        warnings: list[str] = []
        known = await self._known_tip(task, warnings) if task.branch else None

        async def restore(worktree: Path) -> None:
            if told := await restore_own(worktree, branch, f"{task.id}-moved", known or start):
                warnings.append(told)

        if not task.branch:
            known = await self._first_tip(branch, start, warnings)

        taking = self.pool.take(
            branch,
            start,
            in_use=self.in_use,
            run=run.id,
            keep=self.settings.keep,
            included=self._included,
            tip=known,
            restore=restore,
            renew=renew,
        )
        path, _ = await both(taking, self.checkout.begin(trunk))
        if known and await self._is_at_start(path, task, known):
            return Ready(path, branch, known, (), tuple(warnings))
        await detach(path, branch)  # so that nobody who moves the branch interferes
        if known and not task.branch and await self.tip(path) != known:
            await self.merging.put_aside(path, task, known)
        base, conflicts = await self.merging.bring_together(path, task, trunk)
        await renew()
        await force_to_head(path, branch, trunk, f"{task.id}-left")
        return Ready(path, branch, base, conflicts, tuple(warnings))

    async def _is_at_start(self, worktree: Path, task: Task, start: str) -> bool:
        """Is a new task's branch where it starts, with nothing to merge into it?"""
        if task.branch or await self.merging.upstream(task):
            return False
        return await tip_of(worktree, self.merging.branch) == start

    async def _known_tip(self, task: Task, warnings: list[str]) -> str | None:
        """Where the task's branch continues if no worktree is on it, wherever others moved it."""
        branch, runs = str(task.branch), await self.fleet.runs_of(task.id)
        seen = [*((run, run.made) for run in reversed(runs)), *((run, run.base) for run in runs)]
        run, expected = next(((run, commit) for run, commit in seen if commit), (None, None))
        if run is None or expected is None:
            return None
        branches = Branches(self._known, None)
        moved = await branches.compare(branch, expected)
        if moved is None:
            return expected
        if not await branches.has(expected):
            warnings.append(f"what {run.id} made is not here: {run.host} has {expected[:10]}")
            return None
        if moved.found and moved.is_ahead and not await self._is_anothers(moved.found, task):
            return moved.found
        if not await branches.is_checked_out(branch):
            warnings.append(await restored(branches, moved))
        return expected

    async def _is_anothers(self, commit: str, task: Task) -> bool:
        """Is this the work of another task, though that task's own branch may be gone?"""
        if await Branches(self._known, None).has_others(commit, task.id):
            return True
        return is_work_of_another(await self.pool.slots(), commit, str(task.branch))

    async def _first_tip(self, branch: str, start: str, warnings: list[str]) -> str | None:
        """Where a task's branch starts; a branch that already has its name was made by no run."""
        git = Git(self.repo)
        first, found = await commit_at(git, start), await commit_at(git, f"refs/heads/{branch}")
        if first and found and not await is_ancestor(git, found, first):
            kept = await archive(self.repo, label(branch), found)
            warnings.append(f"{branch} existed before its task started; it is kept as {kept}")
        return first

    async def set_up(self, worktree: Path, log: Path) -> None:
        """Run the repo's set-up command in a new worktree, if it has one."""
        command = self.settings.setup
        if not command:
            return
        await asyncio.to_thread(custody.kill_tagged, tag_of(worktree))  # left by a killed runner
        done = await evidence.check(
            command,
            worktree,
            env=custody.environment(self.settings.environment, {}),
            log=log,
            timeout_s=self.settings.check_timeout_s,
        )
        if not done.passed:
            raise FleetError(f"the set-up command `{command}` failed: {done.tail}", hint=str(log))

    async def is_ahead(self, found: Evidence) -> bool:
        """Does the work contain anything that the trunk does not?"""
        return not await self.is_on_trunk(found.tip)

    async def is_on_trunk(self, commit: str) -> bool:
        return await is_ancestor(Git(self.repo), commit, self.trunk)

    async def repair(self, run: Run, folder: Path) -> Sequence[str]:
        """Restore git's settings and the worktree's link to git; return what was wrong."""
        told = await self._told(self._git_settings.compare())
        if not await self.reacquire(run):
            return told
        worktree = Path(str(run.worktree))
        relinked = await relink(self.repo, worktree, str(run.branch), folder / "own.git")
        return [*told, *await self._told(forget_own(worktree)), *filter(None, [relinked])]

    async def _told(self, comparing: Awaitable[Changed]) -> list[str]:
        """The warnings about changed or unreadable settings; they never fail a run."""
        try:
            return (await comparing).told()
        except WorkspaceTrouble as trouble:
            return [trouble.problem]

    async def finish(self, run: Run) -> None:
        """The run is over: stop watching git's settings for it."""
        with suppress(WorkspaceTrouble):
            await self._git_settings.finish(run.id)

    async def return_to_pool(self, path: Path) -> None:
        await self.pool.release(path, self.saved)

    async def tip(self, worktree: Path) -> str:
        return await head_commit(Git(worktree))

    async def reacquire(self, run: Run) -> bool:
        """Lock this run's worktree again; False if it has none or another run has taken it."""
        if run.worktree is None:
            return False
        return await self.pool.regain(Path(run.worktree), str(run.branch), run.id)

    async def reopen(self, run: Run) -> Path:
        """A worktree with the work of a run to be concluded: its own, or one on its branch."""
        if await self.reacquire(run):
            return Path(str(run.worktree))
        branch, base = str(run.branch), str(run.base)
        return await self.pool.take(branch, base, in_use=self.in_use, run=run.id)

    def lock(self, run: Run) -> int | None:
        """The lock on this run's worktree, for the keeper to inherit."""
        return self.pool.locks.handle(Path(str(run.worktree)))

    def release_locks(self) -> None:
        """Release the locks on all worktrees."""
        self.pool.locks.drop_all()

    async def _others(self, task: Task) -> set[str]:
        """The branches of others that an agent at this task may look at or build on."""
        needs = [need.branch for need in await self.dispatch.needs_of(task) if not need.landed]
        handed = [each.branch for each in await upstream.of(self.fleet, task)]
        base = task.base if task.base and PLAIN_NAME.fullmatch(task.base) else None
        if base and task.parent:  # a commit on the branch of the task above
            base = (await self.fleet.get(task.parent)).branch
        return {branch for branch in (*needs, *handed, base) if branch}

    async def _tip_of_trunk(self) -> str:
        found = await commit_at(Git(self.repo), self.trunk)
        if found is None:
            self._missing_trunks.add(self.name)
            raise missing(self.repo, self.trunk.removeprefix("refs/heads/"))
        return found

    async def _start(self, task: Task, base: str) -> str:
        """Where a branch starts if not at the trunk; a shared repo may know it from its remote."""
        if task.parent:
            await refuse_foreign_start(self._known, base, await self.fleet.get(task.parent))
        known = await commit_at(Git(self.repo), f"refs/remotes/origin/{base}")
        return known if known and self.sync else base

    async def in_use(self) -> Collection[Path]:
        """The worktrees of live runs, and those on branches of unfinished tasks."""
        live = await self.dispatch.live_runs()
        busy = {Path(run.worktree) for run in live if run.worktree}
        taken_by = {run.id for run in live}
        slots = await self.pool.slots()
        ids = sorted({task for slot in slots if (task := task_of_branch(slot.branch))})
        tasks = await self.fleet.list(TaskQuery(ids=ids)) if ids else ()
        unfinished = {task.id for task in tasks if task.state in UNFINISHED}
        return busy | {
            slot.path
            for slot in slots
            if slot.run in taken_by or task_of_branch(slot.branch) in unfinished
        }
