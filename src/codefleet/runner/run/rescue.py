"""What happens to the work of a failed run: it is saved, sent or archived, never lost."""

from contextlib import suppress
from pathlib import Path

from codefleet.domain.errors import FleetError
from codefleet.domain.model import Repo, Run
from codefleet.runner.git.archive import archive
from codefleet.runner.git.git import Git
from codefleet.runner.git.lookup import commit_at
from codefleet.runner.git.own_branch import own_head, restore_own, save_own
from codefleet.runner.git.run_refs import track
from codefleet.runner.run.workspace import Workspace


class Rescue:
    """The work of one run, whatever state its worktree is in."""

    def __init__(self, workspace: Workspace, repo: Repo, run: Run, message: str) -> None:
        self.workspace, self.repo, self.run, self.message = workspace, Path(repo.path), run, message

    @property
    def worktree(self) -> Path | None:
        path = Path(self.run.worktree) if self.run.worktree else None
        return path if path and path.is_dir() else None

    async def save(self) -> str:
        """Commit and send the work; what cannot be saved is reported and left in place."""
        if self.worktree is None or not await self.workspace.reacquire(self.run):
            return ""
        try:
            await self._restore(self.worktree)
            await save_own(self.worktree, str(self.run.branch), self.message)
        except FleetError as trouble:
            return f"\nits edits are still in {self.worktree}: {trouble.problem}"
        if made := await self.made():
            await track(self.repo, self.run.id, made)
        with suppress(FleetError):  # what cannot be sent now is sent by the next run here
            await self._send()
        return ""

    async def archive(self) -> str | None:
        """Keep the work beside the task's branch, because another run owns the task by now.

        Returns the commit that holds it.
        """
        if self.worktree is None or not await self.workspace.reacquire(self.run):
            return None
        await self._restore(self.worktree)
        await save_own(self.worktree, str(self.run.branch), self.message)
        tip = await own_head(Git(self.worktree)) or str(self.run.base)
        kept = await archive(self.repo, self.run.id, tip)
        if self.workspace.sync:
            await self.workspace.sync.keep(kept)
        return tip if tip != self.run.base else None

    async def made(self) -> str | None:
        """The commit checked out in the worktree, if any."""
        return await own_head(Git(self.worktree)) if self.worktree else None

    async def _restore(self, worktree: Path) -> None:
        """Recreate a branch that someone deleted, so that the work keeps its history."""
        known, name = self.run.tip or self.run.base, f"{self.run.id}-moved"
        await restore_own(worktree, str(self.run.branch), name, known)

    async def _send(self) -> None:
        branch, sync = self.run.branch, self.workspace.sync
        tip = await commit_at(Git(self.repo), f"refs/heads/{branch}")
        if branch and sync and tip and tip != self.run.base:
            await sync.remote.send_branch(branch, tip)
