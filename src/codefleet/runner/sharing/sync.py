"""How work moves between machines: a run starts with what the remote has, and ends with a push.

What this machine has and the remote does not is never dropped: work continues from there, or it is
archived, here and at the remote.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from codefleet.domain.errors import FleetError, LostRun, Unreachable, WorkspaceTrouble
from codefleet.runner.git.archive import archive, label
from codefleet.runner.git.branch import OURS, set_branch
from codefleet.runner.git.lookup import commit_at, is_ancestor
from codefleet.runner.git.worktree_pool import Pool
from codefleet.runner.lease import Lease
from codefleet.runner.sharing.reachability import Reachability
from codefleet.runner.sharing.remote import Remote

PATIENCE_LEASES = 5
FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 15.0


class Sync:
    """Moves one repo's work to its remote and back."""

    def __init__(self, remote: Remote, pool: Pool, reachability: Reachability) -> None:
        self.remote, self.pool, self.reachability = remote, pool, reachability
        self.git = remote.git

    async def fetch(self, *branches: str) -> None:
        """Fetch the trunk and these branches; the fleet's own follow it unless we are ahead.

        Branches that are not the fleet's are only fetched.
        """
        with self.reachability.watched(self.remote.name):
            await self.remote.fetch(*branches)
        for branch in branches:
            ours = f"refs/heads/{branch}".startswith(OURS)
            theirs = await self.remote.tip(branch) if ours else None
            if theirs and not await self._is_ours_ahead(branch, theirs):
                await self._follow(branch, theirs)

    async def _follow(self, branch: str, theirs: str) -> None:
        await self.archive_unpushed(branch)
        ref = f"refs/heads/{branch}"
        ours = await commit_at(self.git, ref)
        try:
            await set_branch(self.git, ref, "-m", "fleet: go on", ref, theirs, ours or "")
        except WorkspaceTrouble:
            if await commit_at(self.git, ref) != theirs:  # another run here was faster
                raise

    async def archive_unpushed(self, branch: str) -> None:
        """Archive what this machine has of a branch, files too, that the remote does not have."""
        await self.pool.free(branch)
        ours = await commit_at(self.git, f"refs/heads/{branch}")
        theirs = await self.remote.tip(branch), await self.remote.tip(self.remote.trunk)
        for each in filter(None, theirs):
            if ours is None or await is_ancestor(self.git, ours, each):
                return
        if ours:
            await self.keep(await archive(self.git.folder, label(branch), ours))

    async def push(self, lease: Lease, branch: str, tip: str, is_last: Callable[[], bool]) -> None:
        """Send a run's work, and retry for a while if the remote is unreachable, keeping the lease.

        If `is_last` returns True, the runner wants to exit, and there is no retry.
        """
        until = time.monotonic() + PATIENCE_LEASES * lease.dispatch.lease.total_seconds()
        pause = FIRST_PAUSE_S
        while True:
            try:
                with self.reachability.watched(self.remote.name):
                    return await self.remote.send_branch(branch, tip)
            except Unreachable as away:
                if pause == FIRST_PAUSE_S:
                    await lease.tell("run.warned", f"{away.problem}; the work waits here")
                if is_last() or time.monotonic() > until:
                    raise
            await _unless_lost(lease, pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def keep(self, ref: str) -> None:
        """Send an archived commit, if the remote accepts it; it is safe here in any case."""
        with suppress(FleetError):
            await self.remote.send_archive(ref)

    async def _is_ours_ahead(self, branch: str, theirs: str) -> bool:
        ours = await commit_at(self.git, f"refs/heads/{branch}")
        return ours is not None and await is_ancestor(self.git, theirs, ours)


async def _unless_lost(lease: Lease, pause: float) -> None:
    """Wait a while; raises LostRun if another run has the task by now."""
    with suppress(TimeoutError):
        await asyncio.wait_for(lease.lost.wait(), pause)
    if lease.lost.is_set():
        raise LostRun(f"{lease.run.id} no longer holds its task", hint="its work is archived")
