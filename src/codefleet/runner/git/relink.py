"""Reconnecting a worktree that an agent cut off from its repository, with its files unchanged.

Agents delete `.git`, create a repository of their own in its place, or clean up git's own records.
"""

import asyncio
import shutil
from pathlib import Path

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git.archive import archive, label
from codefleet.runner.git.git import Git
from codefleet.runner.git.layout import common_dir, git_dir
from codefleet.runner.git.lookup import commit_at

ADD = ("worktree", "add", "--quiet", "--force", "--force", "--detach", "--no-checkout")


async def relink(repo: Path, worktree: Path, branch: str, aside: Path) -> str | None:
    """Make sure that git knows this worktree, and return what had to be repaired.

    A repository in its place is moved to `aside`, after its commits are archived.
    """
    if worktree.is_symlink():
        worktree.unlink()  # its target is not ours to save, let alone to clean
    if not worktree.is_dir():
        raise WorkspaceTrouble(
            f"the agent's folder {worktree} is gone, with everything that was not committed",
            hint=f"what it committed is on {branch}; `git worktree list` shows a folder that moved",
        )
    if is_tied(repo, worktree):
        return None
    kept = await _put_aside(repo, worktree, branch, aside)
    await Git(repo).run("worktree", "repair", str(worktree))
    if not is_tied(repo, worktree):
        await _link_anew(repo, worktree, branch)
    return kept or "the agent cut its folder off from git; it has been reconnected"


def is_tied(repo: Path, worktree: Path) -> bool:
    """Does the folder point to git's records in this repository, and do they point back?"""
    link = worktree / ".git"
    if link.is_symlink() or not link.is_file():
        return False
    notes = git_dir(worktree)
    back = notes / "gitdir"
    ours = notes.parent == common_dir(git_dir(repo)) / "worktrees"
    if not ours or not back.is_file():
        return False
    return (
        notes / back.read_text(errors="surrogateescape").strip()
    ).parent.resolve() == worktree.resolve()


async def _put_aside(repo: Path, worktree: Path, branch: str, aside: Path) -> str | None:
    """Move away a repository that the agent created, and keep its commits."""
    link = worktree / ".git"
    if link.is_symlink():
        link.unlink()
    if not link.is_dir():
        return None
    kept = ""
    if head := await commit_at(Git(worktree), "HEAD"):
        words = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head")
        await Git(repo)(*words, str(worktree), "HEAD")
        kept = f"; its commits are kept as {await archive(repo, f'{label(branch)}-own', head)}"
    await asyncio.to_thread(shutil.move, link, aside)
    return f"the agent created its own repository, which is now {aside}{kept}"


async def _link_anew(repo: Path, worktree: Path, branch: str) -> None:
    """Git has forgotten the worktree: create one beside it, and let the folder replace it."""
    git, ref = Git(repo), f"refs/heads/{branch}"
    fresh = worktree.with_name(f"{worktree.name}-anew")
    await asyncio.to_thread(shutil.rmtree, fresh, ignore_errors=True)
    await git(*ADD, str(fresh), ref)
    (fresh / ".git").replace(worktree / ".git")
    fresh.rmdir()
    await git("worktree", "repair", str(worktree))
    await Git(worktree)("symbolic-ref", "-m", "fleet: tie anew", "HEAD", ref)
