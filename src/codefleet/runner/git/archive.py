"""Commits that nothing else reaches are kept under `refs/fleet/archive/`."""

from itertools import count
from pathlib import Path

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git.git import Git
from codefleet.runner.git.lookup import commit_at

ARCHIVE = "refs/fleet/archive/"
NOT_REACHED = (
    "--not",
    # These belong to one worktree and go away with it.
    *("--exclude=refs/bisect/*", "--exclude=refs/worktree/*", "--exclude=refs/rewritten/*"),
    "--glob=refs/*",
)


async def keep(repo: Path, commit: str, name: str) -> str | None:
    """Archive a commit if no ref reaches it; return the archive ref."""
    words = ("rev-list", "--max-count=1", "--ignore-missing")  # a branch may go while git looks
    stray = await Git(repo)(*words, commit, *NOT_REACHED)
    return await archive(repo, name, commit) if stray else None


async def archive(repo: Path, name: str, commit: str) -> str:
    """Keep a commit under `refs/fleet/archive/<name>`, numbered if another commit is there."""
    git = Git(repo)
    for number in count(1):
        ref = f"{ARCHIVE}{name}" + (f"-{number}" if number > 1 else "")
        created = await git.run("update-ref", ref, commit, "")
        there = commit if created.code == 0 else await commit_at(git, ref)
        if there == commit:
            return ref
        if there is None:
            raise WorkspaceTrouble(
                f"cannot keep {commit} as {ref}: {created.err}", hint="see git fsck"
            )
    raise AssertionError("there is always a next number")


def label(ref: str) -> str:
    """A branch's name in the archive."""
    return ref.removeprefix("refs/heads/").removeprefix("fleet/")
