"""Files that git ignores and an agent still needs, such as `.env`: named in `.worktreeinclude`."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from codefleet.runner.git.git import Git
from codefleet.runner.git.trunk_file import at_commit

INCLUDE = ".worktreeinclude"


class IncludedFiles(NamedTuple):
    """Where files are copied from, and the ref of the trunk whose list names them."""

    checkout: Path
    trunk: str


async def copy_included(included: IncludedFiles, worktree: Path) -> list[str]:
    """Copy the ignored files that the trunk's `.worktreeinclude` names; return what was copied."""
    checkout = included.checkout
    found = await at_commit(checkout, included.trunk, INCLUDE)
    if found is None or not found.text or not (checkout / ".git").exists():
        return []
    git = Git(checkout)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as patterns:  # one without a name
        patterns.write(found.text)
        patterns.seek(0)
        words = ("ls-files", "-z", "--others", "--ignored")
        named = await git(
            *words, f"--exclude-from=/dev/fd/{patterns.fileno()}", holds=[patterns.fileno()]
        )
    ignored = (await git.run("check-ignore", "-z", "--stdin", stdin=named)).out if named else ""
    paths = [path for path in ignored.split("\0") if path]
    return await asyncio.to_thread(_copy, checkout, worktree, paths)


def _copy(checkout: Path, worktree: Path, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if _copy_one(checkout / path, worktree / path, worktree)]


def _copy_one(source: Path, target: Path, worktree: Path) -> bool:
    """Copy one file unless the target exists; links stay links and are never followed outside."""
    if not target.parent.resolve().is_relative_to(worktree.resolve()):
        return False
    if target.is_symlink() or target.exists():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)
    return True
