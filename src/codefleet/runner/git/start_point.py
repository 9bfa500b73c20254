"""Where the work of a task starts, if not at the trunk."""

from pathlib import Path

from codefleet.domain.errors import Refused
from codefleet.domain.model import Repo, Task
from codefleet.runner.git.git import Git
from codefleet.runner.git.lookup import commit_at, is_ancestor


async def commit(repo: Repo, ref: str) -> str | None:
    """The commit that a ref names in this machine's clone."""
    return await commit_at(Git(Path(repo.path)), ref)


async def is_on_trunk(repo: Repo, commit: str) -> bool:
    """Has this commit landed?"""
    return await is_ancestor(Git(Path(repo.path)), commit, repo.trunk_ref)


async def refuse_foreign_start(repo: Repo, commit: str, parent: Task) -> None:
    """Refuse a start for an agent that is neither on the trunk nor on its own task's branch."""
    git = Git(Path(repo.path))
    for ref in (repo.trunk_ref, f"refs/heads/{parent.branch}"):
        if await commit_at(git, ref) and await is_ancestor(git, commit, ref):
            return
    raise Refused(
        f"{commit[:10]} is neither on {repo.trunk} nor on the branch of {parent.id}",
        hint="an agent's tasks start from the trunk, or from a commit on its own branch",
    )
