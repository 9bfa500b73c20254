"""What the steps of one run share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codefleet.config import Config
from codefleet.domain.model import Repo, Run, Task
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.brief.notebook import Notebook
from codefleet.runner.context import Context
from codefleet.runner.lease import Lease
from codefleet.runner.output.transcript import OutputState
from codefleet.runner.process import custody
from codefleet.runner.run.control import Control
from codefleet.runner.run.inspection import Inspection
from codefleet.runner.run.rescue import Rescue
from codefleet.runner.run.workspace import Workspace


@dataclass
class RunState:
    """One run in progress; its task and settings change when its coder is chosen."""

    context: Context
    repo: Repo
    task: Task
    settings: Config
    lease: Lease
    workspace: Workspace
    notebook: Notebook
    control: Control = field(default_factory=Control)
    heard: OutputState = field(default_factory=OutputState)
    conflicts: Sequence[str] = ()
    """The files in which the trunk conflicts with the task's branch."""

    @classmethod
    def of(cls, context: Context, task: Task, run: Run, repo: Repo) -> "RunState":
        """The state of a run that begins or is adopted."""
        settings = context.settings(repo)
        secrets = [*custody.secrets(settings), context.dispatch.token(run.id)]
        lease = Lease(context.fleet, run, secrets)
        notebook = Notebook(context.paths, lease)
        return cls(context, repo, task, settings, lease, Workspace(context, repo), notebook)

    @property
    def fleet(self) -> Fleet:
        return self.lease.fleet

    @property
    def dispatch(self) -> Dispatch:
        return self.lease.dispatch

    @property
    def run(self) -> Run:
        return self.lease.run

    @property
    def folder(self) -> Path:
        return self.context.paths.run(self.run)

    @property
    def message(self) -> str:
        """The message of commits that the fleet makes for this run."""
        return f"{self.task.title}\n\nFleet-Task: {self.task.id}\nFleet-Run: {self.run.id}"

    async def earlier(self) -> Sequence[Run]:
        """The runs of the task before this one."""
        runs = await self.fleet.runs_of(self.task.id)
        return [run for run in runs if run.number < self.run.number]

    async def warn(self, texts: Iterable[str]) -> None:
        for text in texts:
            await self.lease.tell("run.warned", text)

    async def leave(self) -> None:
        """Return the worktree to the pool; the branch has everything."""
        if self.run.worktree:
            await self.workspace.return_to_pool(Path(self.run.worktree))

    def inspection(self) -> Inspection:
        given_up = self.control.given_up
        return Inspection(
            self.lease, self.workspace, self.task, self.settings, self.folder, given_up
        )

    def rescue(self) -> Rescue:
        return Rescue(self.workspace, self.repo, self.run, self.message)
