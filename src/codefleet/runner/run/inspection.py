"""What git and the checks report about the work in a run's worktree."""

import asyncio
from pathlib import Path

from codefleet.config import Config
from codefleet.domain.model import Evidence, Run, Task
from codefleet.runner.git import quick_save
from codefleet.runner.git.own_branch import detach, force_to_head, rejoin, restore_own
from codefleet.runner.git.run_refs import RUNS, track
from codefleet.runner.git.salvage import salvage
from codefleet.runner.git.undo import undo
from codefleet.runner.git.unhide import show_files
from codefleet.runner.lease import Lease
from codefleet.runner.process import custody
from codefleet.runner.run import evidence
from codefleet.runner.run.both import both
from codefleet.runner.run.interruption import run_unless
from codefleet.runner.run.workspace import Workspace


class Inspection:
    def __init__(
        self,
        lease: Lease,
        workspace: Workspace,
        task: Task,
        settings: Config,
        folder: Path,
        given_up: asyncio.Event,
    ) -> None:
        self.lease, self.workspace, self.task = lease, workspace, task
        self.settings, self.folder, self._given_up = settings, folder, given_up

    @property
    def run(self) -> Run:
        return self.lease.run

    @property
    def worktree(self) -> Path:
        return Path(str(self.run.worktree))

    async def look(self, message: str, *, checked: bool) -> Evidence:
        """Save the work, gather the facts and, if the work is offered as done, run the checks.

        Changes in the worktree after the facts were recorded come from checks whose runner was
        killed: the facts stay as they were.
        """
        seen = self.run.evidence
        if seen:
            await self._undo(seen)
        found = seen.evolve(checks=()) if seen else await self._facts(message)
        return await self._check(found) if checked and not found.unresolved else found

    async def _facts(self, message: str) -> Evidence:
        worktree = self.worktree
        ignored = await self.workspace.merging.unresolved(worktree)
        await self._tell(await self._restored())
        base = str(self.run.base)
        if await show_files(worktree, base):
            await self.lease.tell(
                "run.warned", "its .gitignore hid all files; that rule is removed"
            )
        tip, made = await self._saved(message)
        found, touched = await both(
            evidence.facts(worktree, base, self.task.scope, at=tip, salvaged=made),
            self.workspace.checkout.touched(),
        )
        found = found.evolve(
            checkout_touched=touched,
            unresolved=(*found.unresolved, *map(evidence.printable, ignored)),
        )
        await self._warn_of_strays(found)
        self.lease.remember(tip=found.tip)
        return found

    async def _saved(self, message: str) -> tuple[str, bool]:
        """Save the work on its branch; return the commit, and whether it had to be made."""
        worktree, branch, base = self.worktree, str(self.run.branch), str(self.run.base)
        if work := await quick_save.commit_all(worktree, branch, base, message):
            await self.lease.note()  # a run that lost its task must not move a branch
            ref = f"{RUNS}{self.run.id}"
            self.workspace.saved = await quick_save.advance_branch(worktree, branch, work, also=ref)
            if saved := self.workspace.saved:
                return saved.tip, saved.made
        return await self._salvaged(message)

    async def _salvaged(self, message: str) -> tuple[str, bool]:
        """The same, wherever the agent and others left the worktree and its branch."""
        worktree, branch, base = self.worktree, str(self.run.branch), str(self.run.base)
        was_on = await detach(worktree, branch)
        saved = await salvage(worktree, message, branch)
        if was_on:
            await self._tell(await rejoin(worktree, base, f"{self.run.id}-unrelated", message))
        tip = await self.workspace.tip(worktree)
        await self.lease.note()  # a run that lost its task must not move a branch
        if left := await force_to_head(worktree, branch, base, f"{self.run.id}-left"):
            await self.lease.tell(
                "run.warned", f"it left its branch; the old tip is kept as {left}"
            )
        await track(worktree, self.run.id, tip)
        return tip, bool(saved)

    async def _restored(self) -> str | None:
        known, name = self.run.tip or self.run.base, f"{self.run.id}-moved"
        return await restore_own(self.worktree, str(self.run.branch), name, known)

    async def _tell(self, text: str | None) -> None:
        if text:
            await self.lease.tell("run.warned", text)

    async def _warn_of_strays(self, found: Evidence) -> None:
        """Report changes outside the run's worktree or scope."""
        touched, strange = found.checkout_touched, await self.workspace.checkout.strange_commits()
        if touched or strange:
            what = ", ".join((*touched, *(f"commit {commit}" for commit in strange)))
            text = f"the main checkout changed, by the agent or by a human: {what}"
            await self.lease.tell("run.warned", text)
        if found.outside_scope:
            outside = ", ".join(found.outside_scope[:5])
            await self.lease.tell("run.warned", f"changed outside its scope: {outside}")

    async def _check(self, found: Evidence) -> Evidence:
        commands = (*self.settings.checks, *self.task.checks)
        if not commands:
            return found
        await self.lease.note(evidence=found)
        checks = []
        for number, command in enumerate(commands, 1):
            check = evidence.check(
                command,
                self.worktree,
                env=custody.environment(self.settings.environment, {"FLEET_RUN": self.run.id}),
                log=self.folder / "evidence" / f"check-{number}.log",
                timeout_s=self.settings.check_timeout_s,
            )
            done = await run_unless(self._given_up, check)
            checks.append(done)
            await self.lease.tell("run.checked", f"`{command}`", exit_code=done.exit_code)
            if not done.passed:
                break
        await self._undo(found)
        return found.evolve(checks=tuple(checks))

    async def _undo(self, found: Evidence) -> None:
        """Reset the worktree to what it was before any check ran in it."""
        if not self.worktree.is_dir():
            return  # the folder is gone; the branch has the work
        for repaired in await self.workspace.repair(self.run, self.folder):
            await self.lease.tell("run.warned", repaired)
        undone = await undo(self.worktree, str(self.run.branch), found.tip, f"{self.run.id}-checks")
        if undone.paths:
            some = ", ".join(map(evidence.printable, undone.paths[:5]))
            kept = f", and is kept as {', '.join(undone.kept)}" if undone.kept else ""
            await self.lease.tell(
                "run.warned", f"the checks changed {some}: that is not part of the work{kept}"
            )
