"""Where a name leads that an agent may have written, in few system calls.

A path without links takes one for each part of the name, and git's folders are asked for hundreds
of times in a run. So an answer is remembered, but used only if both names lead to the same folder
now: an agent can replace any of them at any time.
"""

import errno
import os
import stat
from pathlib import Path

MOST_KEPT = 10_000
NOTHING_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}

_known: dict[str, Path] = {}


def real_path(folder: Path, name: str = "") -> Path:
    """The same as `(folder / name).resolve()`, or a path without links that led there before."""
    path = os.path.join(folder, name)
    known = _known.get(path)
    if known is not None and _is_same_folder(path, known):
        return known
    if len(_known) >= MOST_KEPT:
        _known.clear()
    _known[path] = found = Path(path).resolve()
    return found


def kind_of(path: Path | str) -> int:
    """What it is, one of S_IFDIR, S_IFREG and so on, behind any links; 0 if nothing is there."""
    try:
        return stat.S_IFMT(os.stat(path).st_mode)
    except OSError as trouble:
        if trouble.errno in NOTHING_THERE:
            return 0
        raise


def inode_of(path: str) -> int:
    """What identifies it, behind any links; 0 if nothing is there."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0


def _is_same_folder(path: str, known: Path) -> bool:
    """Only folders, because a file can have several names."""
    try:
        one, other = os.stat(path), os.lstat(known)
    except OSError:
        return False
    return stat.S_ISDIR(one.st_mode) and os.path.samestat(one, other)
