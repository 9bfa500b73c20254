"""The worktrees of a repository, as git lists them."""

from pathlib import Path
from typing import NamedTuple

from codefleet.runner.repos.git import Git

LIST = ("worktree", "list", "--porcelain", "-z")


class Listed(NamedTuple):
    """A worktree that git knows, and the branch it is on; None if detached."""

    path: Path
    branch: str | None
    head: str = ""
    is_bare: bool = False


async def worktrees(git: Git) -> list[Listed]:
    """All of them, the main one first."""
    return parsed(await git(*LIST))


def parsed(listing: str) -> list[Listed]:
    """The worktrees in git's output for LIST."""
    return [_entry(entry) for entry in listing.split("\0\0") if entry.strip("\0")]


def _entry(entry: str) -> Listed:
    facts = dict(line.partition(" ")[::2] for line in entry.split("\0") if line)
    branch = facts.get("branch")
    return Listed(
        Path(facts["worktree"]),
        branch.removeprefix("refs/heads/") if branch else None,
        facts.get("HEAD", ""),
        "bare" in facts,
    )
