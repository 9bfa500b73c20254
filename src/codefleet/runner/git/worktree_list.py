"""The worktrees of a repository, as git lists them."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from codefleet.runner.git.git import Git
from codefleet.runner.git.lookup import head_in
from codefleet.runner.git.trusted_view import common_dir_of, read_small

MAY_BE_BARE = re.compile(rb"^\s*bare\b(?!\s*=\s*false\s*$)|\binclude", re.IGNORECASE | re.MULTILINE)
"""Settings with which the main worktree may be none."""
LIST = ("worktree", "list", "--porcelain", "-z")


class Listed(NamedTuple):
    """A worktree that git knows, and the branch it is on; None if detached.

    `head` is the commit, or a ref that names it.
    """

    path: Path
    branch: str | None
    head: str = ""
    is_bare: bool = False


async def worktrees(git: Git) -> list[Listed]:
    """All of them, the main one first."""
    return _recorded(git.folder) or parsed(await git(*LIST))


def _recorded(folder: Path) -> list[Listed] | None:
    """The same from git's own records, which are plain files; None if only git can tell."""
    common = common_dir_of(folder)
    if common is None or common.name != ".git" or MAY_BE_BARE.search(_settings(common)):
        return None
    found, others = [_from_records(common, common, common.parent)], _folders(common / "worktrees")
    if others is None:
        return None
    for records in others:
        if link := read_small(f"{records}/gitdir").decode(errors="surrogateescape").strip():
            found.append(_from_records(common, records, (records / link).parent))
    known = [each for each in found if each]
    return known if len(known) == len(found) else None


def _folders(above: Path) -> list[Path] | None:
    try:
        with os.scandir(above) as entries:
            return sorted(Path(each.path) for each in entries if each.is_dir())
    except FileNotFoundError:
        return []
    except OSError:
        return None


def _from_records(common: Path, records: Path, worktree: Path) -> Listed | None:
    head = head_in(records, common)
    if head is None:
        return None
    branch = head.removeprefix("refs/heads/")
    return Listed(worktree, branch, head) if branch != head else Listed(worktree, None, head)


def _settings(common: Path) -> bytes:
    return b"\n".join(read_small(f"{common}/{name}") for name in ("config", "config.worktree"))


def parsed(listing: str) -> list[Listed]:
    """The worktrees in git's output for LIST."""
    return [_entry(entry) for entry in listing.split("\0\0") if entry.strip("\0")]


def _entry(entry: str) -> Listed:
    facts = dict(line.partition(" ")[::2] for line in entry.split("\0") if line)
    branch = facts.get("branch")
    return Listed(
        Path(facts["worktree"]),
        branch.removeprefix("refs/heads/") if branch else None,
        facts.get("HEAD", ""),
        "bare" in facts,
    )
