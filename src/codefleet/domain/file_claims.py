"""Claims on files: advisory, so that two agents do not change the same ones unknowingly."""

from datetime import datetime, timedelta

from codefleet.domain import scope
from codefleet.domain.ids import RunId, TaskId
from codefleet.domain.noun import Instant, Name, Natural, Noun, Record

WITHOUT_A_TASK = timedelta(hours=8)
"""How long a claim lasts of somebody who has no task that could end."""


class FileClaim(Noun):
    """A path or glob that the agent with a handle wants to change, as long as its task lasts."""

    path: str
    handle: Name
    task: TaskId | None = None
    run: RunId | None = None
    team: str | None = None
    claimed_at: Instant

    def meets(self, path: str) -> bool:
        """Can some file be in both?"""
        return scope.overlap([path], [self.path]) is not None

    def is_outdated(self, now: datetime) -> bool:
        return self.task is None and now - self.claimed_at > WITHOUT_A_TASK


class FileClaims(Record):
    """All claims of a team in a repo: one record, so that of two who claim a file at once one is
    told."""

    id: str
    team: str | None = None
    repo: str
    claims: tuple[FileClaim, ...] = ()
    version: Natural = 0


def claims_id(team: str | None, repo: str) -> str:
    """The key of a team's claims in a repo; the name of a team has no slash."""
    return f"{team or ''}/{repo}"
