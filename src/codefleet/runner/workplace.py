"""Where an agent works: a worktree from the repo's pool, on the task's branch, up to date."""

import asyncio
import re
from collections.abc import Awaitable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import FleetError, Workspace
from codefleet.domain.model import Evidence, Repo, Run, Task, TaskId
from codefleet.domain.words import UNFINISHED, Landing, Reason
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.runner import custody, evidence, heritage
from codefleet.runner.branches import Branches, restored
from codefleet.runner.desk import Desk
from codefleet.runner.heritage import Handed
from codefleet.runner.leftovers import tag_of
from codefleet.runner.repos.base import refuse_strange
from codefleet.runner.repos.branch import missing
from codefleet.runner.repos.git import Git, failed
from codefleet.runner.repos.journal import opened
from codefleet.runner.repos.own_branch import detach, rejoin, restore_own
from codefleet.runner.repos.salvage import (
    archive,
    commit_at,
    identity,
    is_ancestor,
    label,
    salvage,
    take_home,
)
from codefleet.runner.repos.seed import Seed, sow
from codefleet.runner.repos.shared_settings import Changed, SharedSettings, forget_own
from codefleet.runner.repos.tie import tie
from codefleet.runner.repos.travel import Travel
from codefleet.runner.repos.unmerged import Left, untouched, without_markers
from codefleet.runner.verdict import Failed, Released
from codefleet.runner.worktree import Pool, Renew, branch_name

UNMERGED = ("diff", "--name-only", "--diff-filter=U", "--ignore-submodules=dirty", "-z")
PLAIN_NAME = re.compile(r"[\w./-]+")
TASK_OF_BRANCH = re.compile(r"fleet/([a-z0-9]+)-")


class Ready(NamedTuple):
    """A worktree to work in; `conflicts` are files with unresolved conflicts with the trunk."""

    path: Path
    branch: str
    base: str
    conflicts: tuple[str, ...]
    warnings: tuple[str, ...] = ()


class Workplace:
    def __init__(self, desk: Desk, repo: Repo) -> None:
        self.fleet = desk.fleet
        self._known, self.name, self.repo = repo, repo.name, Path(repo.path)
        self._footing = desk.footing
        self.trunk = repo.trunk_ref
        self.settings = desk.settings(repo)
        places = desk.places
        self._journal = places.journal(repo.name)
        self.pool = Pool(self.repo, places.worktrees(repo.name), places.lock(repo.name))
        self._git_settings = SharedSettings(self.repo, places.git_settings(repo.name))
        remote = desk.remote(repo)
        self.travel = Travel(remote, self.pool, desk.roads) if remote else None
        self._seed = Seed(self.repo, self.trunk)
        self._before: Mapping[str, str] | None = None
        self._began_at: str | None = None
        self._branch = ""
        self._collides_with: str | None = None
        self._without_markers: Left = {}

    async def begin(self, run: Run) -> Sequence[str]:
        """Record git's settings before an agent can change them; return what others changed."""

        async def live() -> Collection[str]:
            return {each.id for each in await self.fleet.live_runs()}

        return await self._told(self._git_settings.begin(run.id, live))

    async def prepare(self, task: Task, run: Run, renew: Renew) -> Ready:
        """A worktree on the task's branch: fresh, or as the last run left it plus the trunk.

        The lease is renewed before the branch moves, so that a run that lost its task moves none.
        """
        branch = self._branch = task.branch or branch_name(task.id, task.title)
        if self.travel:
            await self.travel.arrive(branch, *await self._others(task))
        trunk = await self._tip_of_trunk()
        self._began_at = trunk
        start = await self._start(task, task.base) if task.base else trunk
        warnings: list[str] = []
        known = await self._known_tip(task, warnings) if task.branch else None

        async def restore(worktree: Path) -> None:
            if told := await restore_own(worktree, branch, f"{task.id}-moved", known or start):
                warnings.append(told)

        if not task.branch:
            known = await self._first_tip(branch, start, warnings)

        path = await self.pool.take(
            branch,
            start,
            in_use=self.in_use,
            run=run.id,
            keep=self.settings.keep,
            seed=self._seed,
            tip=known,
            restore=restore,
            renew=renew,
        )
        await detach(path, branch)  # so that nobody who moves the branch interferes
        if known and not task.branch and await self.tip(path) != known:
            await self._put_aside(path, task, known)
        base, conflicts = await self._bring_together(path, task, trunk)
        await renew()
        await take_home(path, branch, trunk, f"{task.id}-left")
        self._before = await self._fingerprint()
        return Ready(path, branch, base, conflicts, tuple(warnings))

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
        if moved.found and moved.is_ahead and not await branches.has_others(moved.found, task.id):
            return moved.found
        if not await branches.is_checked_out(branch):
            warnings.append(await restored(branches, moved))
        return expected

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
        await asyncio.to_thread(custody.sweep, tag_of(worktree))  # left by a killed runner
        done = await evidence.check(
            command,
            worktree,
            env=custody.environment(self.settings.environment, {}),
            log=log,
            timeout_s=self.settings.check_timeout_s,
        )
        if not done.passed:
            raise FleetError(f"the set-up command `{command}` failed: {done.tail}", hint=str(log))

    async def left_out(self, task: Task) -> Failed | Released | None:
        """The verdict if the branch lacks work that the task builds on, because of an open merge.

        Once one conflict is resolved, another run continues with the next.
        """
        git = Git(self.repo)
        for handed, commit in await self._heritage(task):
            ref = f"refs/heads/{task.branch}"
            if not await is_ancestor(git, commit, ref):
                note = f"the work of {handed.title} is not merged yet"
                stuck = self._collides_with in (None, commit)
                return Failed(Reason.MERGE_CONFLICT, note) if stuck else Released(note)
        return None

    async def is_ahead(self, found: Evidence) -> bool:
        """Does the work contain anything that the trunk does not?"""
        return not await self.is_on_trunk(found.tip)

    async def is_on_trunk(self, commit: str) -> bool:
        return await is_ancestor(Git(self.repo), commit, self.trunk)

    async def unresolved(self, worktree: Path) -> tuple[str, ...]:
        """Conflicted files without markers that the agent left as the merge did."""
        return await untouched(worktree, self._without_markers)

    async def mend(self, run: Run, folder: Path) -> Sequence[str]:
        """Restore git's settings and the worktree's link to git; return what was wrong."""
        told = await self._told(self._git_settings.compare())
        if not await self.holds(run):
            return told
        worktree = Path(str(run.worktree))
        tied = await tie(self.repo, worktree, str(run.branch), folder / "own.git")
        return [*told, *await self._told(forget_own(worktree)), *filter(None, [tied])]

    async def _told(self, comparing: Awaitable[Changed]) -> list[str]:
        """The warnings about changed or unreadable settings; they never fail a run."""
        try:
            return (await comparing).told()
        except Workspace as trouble:
            return [trouble.problem]

    async def finish(self, run: Run) -> None:
        """The run is over: stop watching git's settings for it."""
        with suppress(Workspace):
            await self._git_settings.finish(run.id)

    async def leave(self, path: Path) -> None:
        await self.pool.release(path)

    async def tip(self, worktree: Path) -> str:
        return await Git(worktree)("rev-parse", "HEAD")

    async def touched(self) -> tuple[str, ...]:
        """Files of the main checkout that changed during the run; agents should not touch it."""
        if self._before is None:
            return ()
        return evidence.touched(self._before, await self._fingerprint())

    async def strange_commits(self) -> tuple[str, ...]:
        """Commits on the trunk since the run started that no lane made; none if it is shared."""
        if self._began_at is None or self.travel:
            return ()
        how = "--format=%h%x00%(trailers:key=Fleet-Task,valueonly)"
        since = f"{self._began_at}..{self.trunk}"
        listed = await Git(self.repo).run("log", "--first-parent", how, since)
        lines = (line.partition("\0") for line in listed.out.splitlines() if line)
        return tuple(commit for commit, mark, task in lines if mark and not task.strip())

    async def holds(self, run: Run) -> bool:
        """Hold this run's worktree; False if it has none, or if another has taken it since."""
        if run.worktree is None:
            return False
        return await self.pool.regain(Path(run.worktree), str(run.branch), run.id)

    async def go_on(self, run: Run) -> Path:
        """A worktree with the work of a run to be concluded: its own, or one on its branch."""
        if await self.holds(run):
            return Path(str(run.worktree))
        branch, base = str(run.branch), str(run.base)
        return await self.pool.take(branch, base, in_use=self.in_use, run=run.id)

    def lock(self, run: Run) -> int | None:
        """The lock on this run's worktree, for the keeper to inherit."""
        return self.pool.locks.handle(Path(str(run.worktree)))

    def let_go(self) -> None:
        """Release the locks on all worktrees."""
        self.pool.locks.drop_all()

    async def _others(self, task: Task) -> set[str]:
        """The branches of others that an agent at this task may look at or build on."""
        needs = [need.branch for need in await self.fleet.needs_of(task) if not need.landed]
        handed = [each.branch for each in await heritage.of(self.fleet, task)]
        base = task.base if task.base and PLAIN_NAME.fullmatch(task.base) else None
        if base and task.parent:  # a commit on the branch of the task above
            base = (await self.fleet.get(task.parent)).branch
        return {branch for branch in (*needs, *handed, base) if branch}

    async def _tip_of_trunk(self) -> str:
        found = await commit_at(Git(self.repo), self.trunk)
        if found is None:
            self._footing.doubt(self.name)
            raise missing(self.repo, self.trunk.removeprefix("refs/heads/"))
        return found

    async def _start(self, task: Task, base: str) -> str:
        """Where a branch starts if not at the trunk; a shared repo may know it from its remote."""
        if task.parent:
            await refuse_strange(self._known, base, await self.fleet.get(task.parent))
        known = await commit_at(Git(self.repo), f"refs/remotes/origin/{base}")
        return known if known and self.travel else base

    async def _fingerprint(self) -> Mapping[str, str]:
        """The state of the checkout between two moves of the lane, which are not the agent's."""
        if not (self.repo / ".git").exists():
            return {}  # a mirror has no checkout
        async with opened(self._journal):
            return await evidence.fingerprint(self.repo)

    async def _bring_together(
        self, worktree: Path, task: Task, trunk: str
    ) -> tuple[str, tuple[str, ...]]:
        """Merge what the task builds on; leave conflict markers for the agent to resolve.

        Returns the commit at which the agent's own work starts, and the files with conflicts.
        """
        if not task.branch:
            try:
                return await self._build_on_needs(worktree, task)
            except Workspace:  # a merge killed with its runner may be in the way
                await self._put_aside(worktree, task, await self.tip(worktree))
                return await self._build_on_needs(worktree, task)
        await self._save_left(worktree, task, trunk)
        stays = task.stage is not None and task.stage.landing is Landing.BRANCH
        base = await self._first_base(task) if stays else None
        if not base and (conflicts := await self._merge(worktree, trunk)):
            return trunk, conflicts
        return base or trunk, (await self._build_on_needs(worktree, task))[1]

    async def _save_left(self, worktree: Path, task: Task, trunk: str) -> None:
        """Commit what the last run left, on a history shared with the trunk."""
        message = "Save what the last run left"
        await salvage(worktree, message, str(task.branch))
        await rejoin(worktree, trunk, f"{task.id}-unrelated", message)

    async def _put_aside(self, worktree: Path, task: Task, start: str) -> None:
        """Archive what is in a worktree that no agent has used yet, and reset it to `start`."""
        await salvage(worktree, "Save a merge that was cut short")
        left = await self.tip(worktree)
        if left != start:
            await archive(self.repo, f"{task.id}-merge", left)
            await Git(worktree)("reset", "--quiet", "--hard", start)
            await sow(self._seed, worktree)

    async def _build_on_needs(self, worktree: Path, task: Task) -> tuple[str, tuple[str, ...]]:
        """Merge the work the task needs that stays on branches and is not on the trunk."""
        for handed, commit in await self._heritage(task):
            before = await self.tip(worktree)
            if conflicts := await self._merge(worktree, commit):
                self._collides_with = commit
                await self.fleet.collide(handed.task, task.id, conflicts, "start")
                return before, conflicts
        return await self.tip(worktree), ()

    async def _heritage(self, task: Task) -> list[tuple[Handed, str]]:
        """What the task builds on, each with its commit."""
        git, found = Git(self.repo), []
        for handed in await heritage.of(self.fleet, task):
            names = (handed.commit, f"refs/heads/{handed.branch}" if handed.branch else None)
            commits = [await commit_at(git, name) for name in names if name]
            commit = next(filter(None, commits), None)
            if commit:
                found.append((handed, commit))
            elif task.stage:
                raise Workspace(
                    f"the work of {handed.title} is gone from {self.repo}",
                    hint=f"`fleet retry {handed.task}` does it again",
                )
        return found

    async def _first_base(self, task: Task) -> str | None:
        """Where the stage's own work started; only later commits count as its own."""
        runs = await self.fleet.runs_of(task.id)
        return next((run.base for run in runs if run.base), None)

    async def _merge(self, worktree: Path, what: str) -> tuple[str, ...]:
        git = Git(worktree)
        words = ("merge", "--no-edit", "--no-ff", f"--into-name={self._branch}", what)
        merged = await git.run(*words, env=await identity(git))
        if merged.code == 0:
            return ()
        listed = await git(*UNMERGED)
        paths = tuple(path for path in listed.split("\0") if path)
        if not paths:
            raise failed(worktree, words, merged)
        self._without_markers = without_markers(worktree, paths)
        return paths

    async def in_use(self) -> Collection[Path]:
        """The worktrees of live runs, and those on branches of unfinished tasks."""
        live = await self.fleet.live_runs()
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


async def branches_of_tasks(fleet: Fleet, repo: Path) -> list[str]:
    """The branches of this fleet's tasks; other branches with such names are not ours."""
    listed = await Git(repo)("for-each-ref", "--format=%(refname)", "refs/heads/fleet/")
    branches = [ref.removeprefix("refs/heads/") for ref in listed.splitlines()]
    ids = sorted({task for each in branches if (task := task_of_branch(each))})
    tasks = await fleet.list(TaskQuery(ids=ids)) if ids else ()
    known = {task.id for task in tasks}
    return [each for each in branches if task_of_branch(each) in known]


def task_of_branch(branch: str | None) -> TaskId | None:
    """The task whose work is on this branch."""
    found = TASK_OF_BRANCH.match(branch or "")
    return TaskId(found[1]) if found else None
