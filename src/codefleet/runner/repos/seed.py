"""Files that git ignores and an agent still needs, such as `.env`: named in `.worktreeinclude`."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from codefleet.runner.repos.git import Git
from codefleet.runner.repos.trunk_file import at_commit

INCLUDE = ".worktreeinclude"


class Seed(NamedTuple):
    """Where files are copied from, and the ref of the trunk whose list names them."""

    checkout: Path
    trunk: str


async def sow(seed: Seed, worktree: Path) -> list[str]:
    """Copy the ignored files that the trunk's `.worktreeinclude` names; return what was copied."""
    checkout = seed.checkout
    found = await at_commit(checkout, seed.trunk, INCLUDE)
    if found is None or not found.text or not (checkout / ".git").exists():
        return []
    git = Git(checkout)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="fleet-") as patterns:
        patterns.write(found.text)
        patterns.flush()
        words = ("ls-files", "-z", "--others", "--ignored", f"--exclude-from={patterns.name}")
        named = await git(*words)
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
