"""Where the work of a task starts, if not at the trunk."""

from collections.abc import Sequence
from pathlib import Path

from codefleet.domain.errors import Invalid, Refused
from codefleet.domain.model import Draft, Repo, Task
from codefleet.fleet import Fleet
from codefleet.runner.repos.git import Git
from codefleet.runner.repos.salvage import commit_at, is_ancestor

LONGEST_REF = 250
TRUNK = (None, "", "HEAD")


async def bound(fleet: Fleet, repo: Repo, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """The drafts, each with a validated base: see `start`."""
    return [draft.evolve(base=await start(fleet, repo, draft.base)) for draft in drafts]


async def start(fleet: Fleet, repo: Repo, ref: str | None) -> str | None:
    """Where work starts: None for the trunk, else a ref; for an agent, the permitted commit.

    An agent may move a branch; a commit stays as it was when it was checked.
    """
    if ref in TRUNK:
        return None
    commit = await _commit(repo, str(ref))
    if fleet.caller is None:
        return ref
    await refuse_strange(repo, commit, await fleet.get((await fleet.asking()).task))
    return commit


async def refuse_strange(repo: Repo, commit: str, parent: Task) -> None:
    """Refuse a start for an agent that is neither on the trunk nor on its own task's branch."""
    git = Git(Path(repo.path))
    for ref in (repo.trunk_ref, f"refs/heads/{parent.branch}"):
        if await commit_at(git, ref) and await is_ancestor(git, commit, ref):
            return
    raise Refused(
        f"{commit[:10]} is neither on {repo.trunk} nor on the branch of {parent.id}",
        hint="an agent's tasks start from the trunk, or from a commit on its own branch",
    )


async def _commit(repo: Repo, ref: str) -> str:
    """The commit that a ref names here; raises Invalid if there is none, before it costs a run."""
    could_be = "\0" not in ref and len(ref) <= LONGEST_REF
    commit = await commit_at(Git(Path(repo.path)), ref) if could_be else None
    if commit is None:
        raise Invalid(
            f"there is no commit {ref[:LONGEST_REF]!r} in {repo.path}",
            hint="see `git branch --all`",
        )
    return commit
