"""The fleet's own ref for the work of each run: agents can move or delete any branch.

The store has the commit, where no agent can change it. `refs/fleet/runs/<run>` only protects it
from git's garbage collection.
"""

from collections.abc import Collection
from pathlib import Path

from codefleet.runner.repos.git import Git
from codefleet.runner.repos.salvage import NOT_REACHED, archive

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


async def _listed(repo: Path) -> list[tuple[str, str]]:
    """Each run with a ref, and its commit."""
    listed = await Git(repo)("for-each-ref", "--format=%(refname) %(objectname)", RUNS)
    pairs = (line.split(" ") for line in listed.splitlines())
    return [(ref.removeprefix(RUNS), commit) for ref, commit in pairs]
