"""A fleet whose repositories are on another machine: what needs them is asked of that one."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from codefleet.domain.model import Task
from codefleet.domain.views import CoderFacts, Notes, Setting, WorktreeStatus
from codefleet.fleet import Fleet
from codefleet.runner.doctor.findings import Finding
from codefleet.runner.gc.collector import Told
from codefleet.runner.worktrees import Committed


class Elsewhere(Protocol):
    """The machine that has the repositories."""

    async def land(self, ref: str, commit: str | None) -> Task: ...

    async def diff(self, ref: str) -> str: ...

    async def run_log(self, ref: str, lines: int) -> str: ...

    async def notes(self, ref: str) -> Notes: ...

    async def commit_worktree(self, message: str, handle: str | None) -> Committed: ...

    async def push_worktree(self, handle: str | None) -> Committed: ...

    async def worktree_status(self, handle: str | None) -> WorktreeStatus: ...

    def gc(self, *, dry_run: bool) -> AsyncIterator[Told]: ...

    def cleanup_workflow(self, ref: str) -> AsyncIterator[Told]: ...

    async def doctor(self) -> Sequence[Finding]: ...

    async def coders(self) -> Sequence[CoderFacts]: ...

    async def settings(self) -> Sequence[Setting]: ...

    async def configure(self, key: str, value: str) -> Setting: ...


def elsewhere(fleet: Fleet) -> Elsewhere | None:
    """The other machine; None for a fleet of this one."""
    there: Elsewhere | None = getattr(fleet, "elsewhere", None)
    return there
