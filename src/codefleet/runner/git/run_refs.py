"""The fleet's own ref for the work of each run: agents can move or delete any branch.

The store has the commit, where no agent can change it. `refs/fleet/runs/<run>` only protects it
from git's garbage collection.
"""

from collections.abc import Collection
from pathlib import Path

from codefleet.runner.git.archive import NOT_REACHED, archive
from codefleet.runner.git.git import Git
from codefleet.runner.git.history import is_near_ancestor
from codefleet.runner.git.object_reader import look_up
from codefleet.runner.git.ref_transaction import change_refs
from codefleet.runner.git.worktree_list import worktrees

RUNS = "refs/fleet/runs/"
OTHERWISE_REACHED = ("--not", f"--exclude={RUNS}*", *NOT_REACHED[1:])


async def track(repo: Path, run: str, commit: str) -> None:
    """Keep a run's work so far. A ref that cannot be set is no error: the branch has the work."""
    await Git(repo).run("update-ref", "--no-deref", f"{RUNS}{run}", commit)


async def tracked_tasks(repo: Path) -> set[str]:
    """The tasks whose runs have such refs here."""
    return {run.rpartition(".")[0] for run, _ in await _listed(repo)}


async def drop_run_refs(repo: Path, tasks: Collection[str]) -> None:
    """Drop the refs of these tasks' runs; a commit that nothing else reaches is archived first."""
    git = Git(repo)
    for run, commit in await _listed(repo):
        if run.rpartition(".")[0] in tasks:
            look = ("rev-list", "--max-count=1", "--ignore-missing", commit)
            if (await git.run(*look, *OTHERWISE_REACHED)).out:
                await archive(repo, run, commit)
            await git.run("update-ref", "--no-deref", "-d", f"{RUNS}{run}", commit)


async def drop_landed(repo: Path, branch: str, trunk: str, runs: Collection[str]) -> bool:
    """Drop a landed branch and the refs of its runs at once; False if it is not that simple.

    It is if the trunk obviously has them all, and the branch is checked out nowhere.
    """
    git, refs = Git(repo), [f"refs/heads/{branch}", *(f"{RUNS}{run}" for run in runs)]
    found = await look_up(repo, *(f"{ref}^{{commit}}" for ref in refs))
    if found is None or any(each.branch == branch for each in await worktrees(git)):
        return False
    there = {ref: it.id for ref, it in zip(refs, found, strict=True) if it}
    for commit in {*there.values()}:
        if not await is_near_ancestor(git, commit, trunk):
            return False
    lines = [f"delete {ref} {commit}" for ref, commit in there.items()]
    return not lines or (await change_refs(git, lines, "fleet: landed")).code == 0


async def _listed(repo: Path) -> list[tuple[str, str]]:
    """Each run with a ref, and its commit."""
    listed = await Git(repo)("for-each-ref", "--format=%(refname) %(objectname)", RUNS)
    pairs = (line.split(" ") for line in listed.splitlines())
    return [(ref.removeprefix(RUNS), commit) for ref, commit in pairs]
