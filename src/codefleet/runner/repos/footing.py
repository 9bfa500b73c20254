"""Whether a repo still has its trunk; one that a run did not find is looked for again."""

from pathlib import Path

from codefleet.domain.model import Repo
from codefleet.runner.repos.git import Git
from codefleet.runner.repos.salvage import commit_at


class Footing:
    """The repos whose trunk was missing; only these are checked, because a check runs git."""

    def __init__(self) -> None:
        self.doubted: set[str] = set()

    def doubt(self, repo: str) -> None:
        """Note that a run did not find the trunk of this repo."""
        self.doubted.add(repo)

    async def lacks(self, repo: Repo) -> str:
        """What the repo still lacks; empty if nothing, and then it is no longer doubted."""
        if await has_trunk(repo):
            self.doubted.discard(repo.name)
            return ""
        return f"{repo.name} has no branch {repo.trunk}"


async def has_trunk(repo: Repo) -> bool:
    """Does the branch exist that work on this repo starts from and lands on?"""
    return await commit_at(Git(Path(repo.path)), repo.trunk_ref) is not None
