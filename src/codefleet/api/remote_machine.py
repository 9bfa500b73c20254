"""What needs git or files, asked of the machine that has the repositories."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from codefleet.api.link import Link
from codefleet.api.table import BY_NAME
from codefleet.domain.model import Task
from codefleet.domain.views import CoderFacts, Notes, Setting, WorktreeStatus
from codefleet.runner.doctor.findings import Finding
from codefleet.runner.gc.collector import Told
from codefleet.runner.worktrees import Committed


class RemoteMachine:
    """What needs the machine that has the repositories."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def _ask(self, name: str, **given: Any) -> Any:
        return await self._link.ask(BY_NAME[name], given)

    async def land(self, ref: str, commit: str | None) -> Task:
        landed: Task = await self._ask("land", ref=ref, commit=commit)
        return landed

    async def diff(self, ref: str) -> str:
        return str(await self._ask("diff", ref=ref))

    async def run_log(self, ref: str, lines: int) -> str:
        return str(await self._ask("run_log", ref=ref, lines=lines))

    async def notes(self, ref: str) -> Notes:
        found: Notes = await self._ask("notes", ref=ref)
        return found

    async def commit_worktree(self, message: str, handle: str | None) -> Committed:
        made = await self._ask("commit_worktree", message=message, handle=handle)
        return Committed(made.branch, made.commit, made.is_new)

    async def push_worktree(self, handle: str | None) -> Committed:
        made = await self._ask("push_worktree", handle=handle)
        return Committed(made.branch, made.commit, made.is_new)

    async def worktree_status(self, handle: str | None) -> WorktreeStatus:
        found: WorktreeStatus = await self._ask("worktree_status", handle=handle)
        return found

    async def gc(self, *, dry_run: bool) -> AsyncIterator[Told]:
        for each in await self._ask("gc", dry_run=dry_run):
            yield Told(each.text, each.gone)

    async def cleanup_workflow(self, ref: str) -> AsyncIterator[Told]:
        for each in await self._ask("cleanup_workflow", ref=ref):
            yield Told(each.text, each.gone)

    async def doctor(self) -> Sequence[Finding]:
        found = await self._ask("doctor")
        return [Finding(each.what, each.fix, each.must, each.facts) for each in found]

    async def coders(self) -> Sequence[CoderFacts]:
        found: Sequence[CoderFacts] = await self._ask("coders")
        return found

    async def settings(self) -> Sequence[Setting]:
        found: Sequence[Setting] = await self._ask("settings")
        return found

    async def configure(self, key: str, value: str) -> Setting:
        changed: Setting = await self._ask("configure", key=key, value=value)
        return changed
