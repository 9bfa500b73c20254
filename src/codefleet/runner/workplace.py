"""Where an agent works: a worktree from the repo's pool, on the task's branch, up to date."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.model import Repo, Run, Task, TaskId
from codefleet.fleet.core import UNFINISHED
from codefleet.ports import TaskQuery
from codefleet.runner import evidence
from codefleet.runner.desk import Desk
from codefleet.runner.git import Git
from codefleet.runner.journal import opened
from codefleet.runner.salvage import identity, salvage
from codefleet.runner.worktree import Pool, branch_name

TASK_OF_BRANCH = re.compile(r"fleet/([a-z0-9]+)-")


class Ready(NamedTuple):
    """A worktree to work in; `conflicts` are files in which the merge with the trunk is open."""

    path: Path
    branch: str
    base: str
    conflicts: tuple[str, ...]


class Workplace:
    def __init__(self, desk: Desk, repo: Repo) -> None:
        self.fleet = desk.fleet
        self.repo = Path(repo.path)
        self.trunk = repo.trunk
        self.settings = desk.settings(repo)
        places = desk.places
        self._journal = places.journal(repo.name)
        self.pool = Pool(self.repo, places.worktrees(repo.name), places.lock(repo.name))
        self._before: Mapping[str, str] | None = None
        self._began_at: str | None = None

    async def prepare(self, task: Task, run: Run) -> Ready:
        """A worktree on the task's branch: fresh, or as the last run left it plus the trunk."""
        branch = task.branch or branch_name(task.id, task.title)
        base = await Git(self.repo)("rev-parse", f"refs/heads/{self.trunk}^{{commit}}")
        self._began_at = base
        path = await self.pool.take(
            branch, base, in_use=self.in_use, keep=self.settings.keep, seed=self.repo
        )
        if task.branch:
            conflicts = await self._catch_up(path, base)
        else:
            base, conflicts = await self._build_on_needs(path, base, task)
        self._before = await self._fingerprint()
        return Ready(path, branch, base, conflicts)

    async def leave(self, path: Path) -> None:
        await self.pool.release(path)

    async def tip(self, worktree: Path) -> str:
        return await Git(worktree)("rev-parse", "HEAD")

    async def touched(self) -> tuple[str, ...]:
        """Files of the main checkout that changed meanwhile; an agent has no business there."""
        if self._before is None:
            return ()
        return evidence.touched(self._before, await self._fingerprint())

    async def strange_commits(self) -> tuple[str, ...]:
        """Commits on the trunk since the run began that no lane made."""
        if self._began_at is None:
            return ()
        how = "--format=%h%x00%(trailers:key=Fleet-Task,valueonly)"
        since = f"{self._began_at}..refs/heads/{self.trunk}"
        listed = await Git(self.repo).run("log", "--first-parent", how, since)
        lines = (line.partition("\0") for line in listed.out.splitlines() if line)
        return tuple(commit for commit, mark, task in lines if mark and not task.strip())

    async def taken_by_another(self, run: Run) -> bool:
        """Does a later run of the same task, or any other live run, use this run's worktree?"""
        others = await self.fleet.store.runs(live=True)
        return any(other.id != run.id and other.worktree == run.worktree for other in others)

    async def _fingerprint(self) -> Mapping[str, str]:
        """The checkout as it is between two moves of the lane, which are not the agent's doing."""
        async with opened(self._journal):
            return await evidence.fingerprint(self.repo)

    async def _build_on_needs(
        self, worktree: Path, base: str, task: Task
    ) -> tuple[str, tuple[str, ...]]:
        """Where work stays on its branch, the trunk does not have what the task needs: merge it."""
        for need in await self.fleet.needs_of(task):
            if need.landed is None and need.branch:
                if conflicts := await self._merge(worktree, f"refs/heads/{need.branch}"):
                    return base, conflicts
                base = await self.tip(worktree)
        return base, ()

    async def _catch_up(self, worktree: Path, base: str) -> tuple[str, ...]:
        """Merge the trunk into the branch; where that conflicts, leave the markers to the agent."""
        await salvage(worktree, "Save what the last run left")
        return await self._merge(worktree, base)

    async def _merge(self, worktree: Path, what: str) -> tuple[str, ...]:
        git = Git(worktree)
        merged = await git.run("merge", "--no-edit", "--no-ff", what, env=await identity(git))
        if merged.code == 0:
            return ()
        listed = await git("diff", "--name-only", "--diff-filter=U", "-z")
        return tuple(path for path in listed.split("\0") if path)

    async def in_use(self) -> Collection[Path]:
        """The worktrees of live runs, and those on branches of unfinished tasks."""
        busy = {
            Path(run.worktree) for run in await self.fleet.store.runs(live=True) if run.worktree
        }
        slots = {slot.path: task_of_branch(slot.branch) for slot in await self.pool.slots()}
        ids = sorted({task for task in slots.values() if task})
        tasks = await self.fleet.store.tasks(TaskQuery(ids=ids)) if ids else ()
        unfinished = {task.id for task in tasks if task.state in UNFINISHED}
        return busy | {path for path, task in slots.items() if task in unfinished}


def task_of_branch(branch: str | None) -> TaskId | None:
    """The task whose work is on this branch."""
    found = TASK_OF_BRANCH.match(branch or "")
    return TaskId(found[1]) if found else None
