"""Bringing together what a task builds on: the trunk, and the unlanded work that it needs."""

from pathlib import Path

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.landing_modes import ends_on_trunk
from codefleet.domain.model import Task
from codefleet.domain.words import Reason
from codefleet.runner.context import Context
from codefleet.runner.git.archive import archive
from codefleet.runner.git.commit import identity
from codefleet.runner.git.conflicts import Left, untouched, without_markers
from codefleet.runner.git.git import Git, failed
from codefleet.runner.git.included_files import IncludedFiles, copy_included
from codefleet.runner.git.lookup import commit_at, head_commit, is_ancestor
from codefleet.runner.git.own_branch import rejoin
from codefleet.runner.git.salvage import salvage
from codefleet.runner.run.upstream import Handed
from codefleet.runner.run.upstream import of as upstream_of
from codefleet.runner.run.verdict import Failed, Released

UNMERGED = ("diff", "--name-only", "--diff-filter=U", "--ignore-submodules=dirty", "-z")


class Merging:
    """The merges in one run's worktree, and the conflicts that they left to its agent."""

    def __init__(self, context: Context, repo: Path, included: IncludedFiles) -> None:
        self._fleet, self._dispatch = context.fleet, context.dispatch
        self._repo, self._included = repo, included
        self.branch = ""
        self._collides_with: str | None = None
        self._without_markers: Left = {}

    async def bring_together(
        self, worktree: Path, task: Task, trunk: str
    ) -> tuple[str, tuple[str, ...]]:
        """Merge what the task builds on; leave conflict markers for the agent to resolve.

        Returns the commit at which the agent's own work starts, and the files with conflicts.
        """
        if not task.branch:
            try:
                return await self._build_on_needs(worktree, task)
            except WorkspaceTrouble:  # a merge killed with its runner may be in the way
                await self.put_aside(worktree, task, await head_commit(Git(worktree)))
                return await self._build_on_needs(worktree, task)
        await self._save_left(worktree, task, trunk)
        stays = task.stage is not None and not ends_on_trunk(task.stage.lands)
        base = await self._first_base(task) if stays else None
        if not base and (conflicts := await self._merge(worktree, trunk)):
            return trunk, conflicts
        return base or trunk, (await self._build_on_needs(worktree, task))[1]

    async def left_out(self, task: Task) -> Failed | Released | None:
        """The verdict if the branch lacks work that the task builds on, because of an open merge.

        Once one conflict is resolved, another run continues with the next.
        """
        git = Git(self._repo)
        for handed, commit in await self.upstream(task):
            ref = f"refs/heads/{task.branch}"
            if not await is_ancestor(git, commit, ref):
                note = f"the work of {handed.title} is not merged yet"
                stuck = self._collides_with in (None, commit)
                return Failed(Reason.MERGE_CONFLICT, note) if stuck else Released(note)
        return None

    async def unresolved(self, worktree: Path) -> tuple[str, ...]:
        """Conflicted files without markers that the agent left as the merge did."""
        return await untouched(worktree, self._without_markers)

    async def _save_left(self, worktree: Path, task: Task, trunk: str) -> None:
        """Commit what the last run left, on a history shared with the trunk."""
        message = "Save what the last run left"
        await salvage(worktree, message, str(task.branch))
        await rejoin(worktree, trunk, f"{task.id}-unrelated", message)

    async def put_aside(self, worktree: Path, task: Task, start: str) -> None:
        """Archive what is in a worktree that no agent has used yet, and reset it to `start`."""
        await salvage(worktree, "Save a merge that was cut short")
        left = await head_commit(Git(worktree))
        if left != start:
            await archive(self._repo, f"{task.id}-merge", left)
            await Git(worktree)("reset", "--quiet", "--hard", start)
            await copy_included(self._included, worktree)

    async def _build_on_needs(self, worktree: Path, task: Task) -> tuple[str, tuple[str, ...]]:
        """Merge the work the task needs that stays on branches and is not on the trunk."""
        for handed, commit in await self.upstream(task):
            before = await head_commit(Git(worktree))
            if conflicts := await self._merge(worktree, commit):
                self._collides_with = commit
                await self._dispatch.record_conflict(handed.task, task.id, conflicts, "start")
                return before, conflicts
        return await head_commit(Git(worktree)), ()

    async def upstream(self, task: Task) -> list[tuple[Handed, str]]:
        """What the task builds on, each with its commit."""
        git, found = Git(self._repo), []
        for handed in await upstream_of(self._fleet, task):
            names = (handed.commit, f"refs/heads/{handed.branch}" if handed.branch else None)
            commits = [await commit_at(git, name) for name in names if name]
            commit = next(filter(None, commits), None)
            if commit:
                found.append((handed, commit))
            elif task.stage:
                raise WorkspaceTrouble(
                    f"the work of {handed.title} is gone from {self._repo}",
                    hint=f"`fleet retry {handed.task}` does it again",
                )
        return found

    async def _first_base(self, task: Task) -> str | None:
        """Where the stage's own work started; only later commits count as its own."""
        runs = await self._fleet.runs_of(task.id)
        return next((run.base for run in runs if run.base), None)

    async def _merge(self, worktree: Path, what: str) -> tuple[str, ...]:
        git = Git(worktree)
        words = ("merge", "--no-edit", "--no-ff", f"--into-name={self.branch}", what)
        merged = await git.run(*words, env=await identity(git))
        if merged.code == 0:
            return ()
        listed = await git(*UNMERGED)
        paths = tuple(path for path in listed.split("\0") if path)
        if not paths:
            raise failed(worktree, words, merged)
        self._without_markers = without_markers(worktree, paths)
        return paths
