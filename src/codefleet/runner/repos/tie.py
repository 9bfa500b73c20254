"""A worktree that an agent cut off from its repository is tied to it again, its files as they are.

Agents delete `.git`, begin a repository of their own in its place, or tidy up git's own notes.
"""

import asyncio
import shutil
from pathlib import Path

from codefleet.domain.errors import Workspace
from codefleet.runner.repos.git import Git
from codefleet.runner.repos.locks import common_dir
from codefleet.runner.repos.salvage import archive, commit_at, git_dir, label

ADD = ("worktree", "add", "--quiet", "--force", "--force", "--detach", "--no-checkout")


async def tie(repo: Path, worktree: Path, branch: str, aside: Path) -> str | None:
    """Make sure that git knows this worktree, and say what had to be mended.

    A repository that stands in its place is moved to `aside`, after what it has is archived.
    """
    if worktree.is_symlink():
        worktree.unlink()  # what it leads to is not ours to save, and never to clean
    if not worktree.is_dir():
        raise Workspace(
            f"the agent's folder {worktree} is gone, and with it what was not committed",
            hint=f"what it committed is on {branch}; `git worktree list` shows a folder that moved",
        )
    if _is_tied(repo, worktree):
        return None
    kept = await _put_aside(repo, worktree, branch, aside)
    await Git(repo).run("worktree", "repair", str(worktree))
    if not _is_tied(repo, worktree):
        await _tie_anew(repo, worktree, branch)
    return kept or "the agent cut its folder off from git; it is tied to it again"


def _is_tied(repo: Path, worktree: Path) -> bool:
    """Does the folder lead to notes of git in this repository, and do they lead back?"""
    link = worktree / ".git"
    if link.is_symlink() or not link.is_file():
        return False
    notes = git_dir(worktree)
    back = notes / "gitdir"
    ours = notes.parent == common_dir(git_dir(repo)) / "worktrees"
    if not ours or not back.is_file():
        return False
    return (notes / back.read_text().strip()).parent.resolve() == worktree.resolve()


async def _put_aside(repo: Path, worktree: Path, branch: str, aside: Path) -> str | None:
    """Take a repository of the agent's own out of the way, and keep what it has committed."""
    link = worktree / ".git"
    if link.is_symlink():
        link.unlink()
    if not link.is_dir():
        return None
    kept = ""
    if head := await commit_at(Git(worktree), "HEAD"):
        words = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head")
        await Git(repo)(*words, str(worktree), "HEAD")
        kept = f"; its commits are {await archive(repo, f'{label(branch)}-own', head)}"
    await asyncio.to_thread(shutil.move, link, aside)
    return f"the agent began a repository of its own, which is now {aside}{kept}"


async def _tie_anew(repo: Path, worktree: Path, branch: str) -> None:
    """Git has forgotten the worktree: make one beside it, and let the folder take its place."""
    git, ref = Git(repo), f"refs/heads/{branch}"
    fresh = worktree.with_name(f"{worktree.name}-anew")
    await asyncio.to_thread(shutil.rmtree, fresh, ignore_errors=True)
    await git(*ADD, str(fresh), ref)
    (fresh / ".git").replace(worktree / ".git")
    fresh.rmdir()
    await git("worktree", "repair", str(worktree))
    await Git(worktree)("symbolic-ref", "-m", "fleet: tie anew", "HEAD", ref)
