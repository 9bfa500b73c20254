"""Files that git ignores and an agent still needs, such as `.env`: named in `.worktreeinclude`."""

import asyncio
import shutil
from collections.abc import Iterable
from pathlib import Path

from codefleet.runner.repos.git import Git

INCLUDE = ".worktreeinclude"


async def sow(checkout: Path, worktree: Path) -> list[str]:
    """Copy what `.worktreeinclude` names and git ignores; return the paths that were copied."""
    if not (checkout / INCLUDE).is_file():
        return []
    git = Git(checkout)
    named = await git("ls-files", "-z", "--others", "--ignored", f"--exclude-from={INCLUDE}")
    ignored = (await git.run("check-ignore", "-z", "--stdin", stdin=named)).out if named else ""
    paths = [path for path in ignored.split("\0") if path]
    return await asyncio.to_thread(_copy, checkout, worktree, paths)


def _copy(checkout: Path, worktree: Path, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if _copy_one(checkout / path, worktree / path, worktree)]


def _copy_one(source: Path, target: Path, worktree: Path) -> bool:
    """Copy one file unless something is there; a link stays a link and never leads us out."""
    if not target.parent.resolve().is_relative_to(worktree.resolve()):
        return False
    if target.is_symlink() or target.exists():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)
    return True
