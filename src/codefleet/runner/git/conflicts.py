"""Conflicts without markers: a file that is binary, or that only one side still has.

Git leaves such a file as one side has it, and whoever commits everything silently drops the other
side. So what git left there is recorded, and compared when the agent is done.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from codefleet.runner.git.git import Git

MARKER = re.compile(rb"^<{7} ", re.MULTILINE)

Left = Mapping[str, str]
"""The conflicting files without markers, each with what git left there."""


def without_markers(worktree: Path, paths: Iterable[str]) -> Left:
    """The conflicting files that contain no markers."""
    contents = {path: _content(worktree / path) for path in paths}
    return {path: _seal(it) for path, it in contents.items() if it is None or not MARKER.search(it)}


async def untouched(worktree: Path, left: Left) -> tuple[str, ...]:
    """Those of these files that nobody has changed, deleted or marked as resolved."""
    if not left:
        return ()
    listed = await Git(worktree)("ls-files", "--unmerged", "-z")
    open_ = {entry.partition("\t")[2] for entry in listed.split("\0")}
    same = (path for path, seal in left.items() if _seal(_content(worktree / path)) == seal)
    return tuple(path for path in same if path in open_)


def _content(file: Path) -> bytes | None:
    if file.is_symlink():
        return str(file.readlink()).encode(errors="surrogateescape")
    return file.read_bytes() if file.is_file() else None


def _seal(content: bytes | None) -> str:
    return "none" if content is None else hashlib.sha256(content).hexdigest()
