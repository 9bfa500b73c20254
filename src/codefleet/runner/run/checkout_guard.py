"""Whether an agent touched what is not its own: the user's checkout, or the trunk."""

import re
from collections.abc import Mapping
from pathlib import Path

from codefleet.domain.model import Repo
from codefleet.runner.git.git import Git
from codefleet.runner.git.history import has_grafts
from codefleet.runner.git.journal import opened
from codefleet.runner.git.lookup import commit_at
from codefleet.runner.git.object_reader import look_up
from codefleet.runner.run import evidence

FEW = 32
LANDING = re.compile(
    rb"tree [0-9a-f]+\nparent ([0-9a-f]+)\n(?:[^\n]+\n)+"  # its first parent is the trunk before
    rb"\n.*\n\nFleet-Task: [^\s]+\nFleet-Run: [^\s]+\n",
    re.DOTALL,
)
"""A commit as a lane makes it; git tells of all others whether they are landings."""


class CheckoutGuard:
    """The state of the checkout and the trunk before a run, to compare with afterwards."""

    def __init__(self, repo: Repo, journal: Path) -> None:
        self._repo, self._trunk, self._is_shared = Path(repo.path), repo.trunk_ref, repo.shared
        self._journal = journal
        self._before: Mapping[str, str] | None = None
        self._began_at: str | None = None

    async def begin(self, trunk: str) -> None:
        """Remember the checkout as it is, and where the trunk was when the run was prepared."""
        self._began_at = trunk
        self._before = await self._fingerprint()

    async def touched(self) -> tuple[str, ...]:
        """Files of the main checkout that changed during the run; agents should not touch it."""
        if self._before is None:
            return ()
        return evidence.touched(self._before, await self._fingerprint())

    async def strange_commits(self) -> tuple[str, ...]:
        """Commits on the trunk since the run started that no lane made; none if it is shared."""
        if self._began_at is None or self._is_shared:
            return ()
        git = Git(self._repo)
        now = await commit_at(git, self._trunk)
        if now == self._began_at or (now and await self._is_all_landed(git, now)):
            return ()
        how = "--format=%h%x00%(trailers:key=Fleet-Task,valueonly)"
        since = f"{self._began_at}..{self._trunk}"
        listed = await git.run("log", "--first-parent", how, since)
        lines = (line.partition("\0") for line in listed.out.splitlines() if line)
        return tuple(commit for commit, mark, task in lines if mark and not task.strip())

    async def _is_all_landed(self, git: Git, now: str) -> bool:
        """Did the trunk get here by landings alone, as far as the last few commits show?"""
        commit = now
        for _ in range(FEW):
            if commit == self._began_at:
                return not has_grafts(git)
            found = await look_up(git.folder, commit, contents=True)
            landing = found and found[0] and LANDING.fullmatch(found[0].content)
            if not landing:
                return False
            commit = landing[1].decode()
        return False

    async def _fingerprint(self) -> Mapping[str, str]:
        """The state of the checkout between two moves of the lane, which are not the agent's."""
        if not (self._repo / ".git").exists():
            return {}  # a mirror has no checkout
        async with opened(self._journal):
            return await evidence.fingerprint(self._repo)
