"""What is done with the work of a run that went wrong: saved, sent, or archived. Never lost."""

from contextlib import suppress
from pathlib import Path

from codefleet.domain.errors import FleetError
from codefleet.domain.model import Repo, Run
from codefleet.runner.repos.git import Git
from codefleet.runner.repos.salvage import archive, commit_at, salvage, step_off
from codefleet.runner.workplace import Workplace


class Aftermath:
    """The work of one run, whatever state its worktree is in."""

    def __init__(self, place: Workplace, repo: Repo, run: Run, message: str) -> None:
        self.place, self.repo, self.run, self.message = place, Path(repo.path), run, message

    @property
    def worktree(self) -> Path | None:
        path = Path(self.run.worktree) if self.run.worktree else None
        return path if path and path.is_dir() else None

    async def save(self) -> str:
        """Commit and send what there is; what cannot be saved is told, and left where it is."""
        if self.worktree is None:
            return ""
        try:
            await step_off(self.worktree, str(self.run.branch))
            await salvage(self.worktree, self.message)
        except FleetError as trouble:
            return f"\nits edits are still in {self.worktree}: {trouble.problem}"
        with suppress(FleetError):  # what does not go now goes with the next run here
            await self._send()
        return ""

    async def archive(self) -> None:
        """Keep the work beside the task's branch, because the task is somebody else's by now."""
        if self.worktree is None or await self.place.taken_by_another(self.run):
            return
        await step_off(self.worktree, str(self.run.branch))
        await salvage(self.worktree, self.message)
        kept = await archive(self.repo, self.run.id, await self.place.tip(self.worktree))
        if self.place.travel:
            await self.place.travel.keep(kept)
        await self.place.leave(self.worktree)

    async def _send(self) -> None:
        branch, travel = self.run.branch, self.place.travel
        tip = await commit_at(Git(self.repo), f"refs/heads/{branch}")
        if branch and travel and tip and tip != self.run.base:
            await travel.remote.send_branch(branch, tip)
