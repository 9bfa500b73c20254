"""Indexes in which an agent made a changed file look unchanged."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from codefleet.runner.git.layout import git_dir
from tests.gitrepo import SampleRepo

LONG_AGO_NS = 10**18
TREE = b"TREE"
CHECKSUM = 20

Forge = Callable[[SampleRepo, Path], None]


def set_back(file: Path, time_ns: int = LONG_AGO_NS) -> None:
    """Give a file an older time of modification: git looks again at what changed just now."""
    os.utime(file, ns=(time_ns, time_ns))


def by_a_filter(repo: SampleRepo, file: Path) -> None:
    """Add the file by a filter that hands git what is committed."""
    attributes = repo.path / ".git" / "attributes"
    attributes.write_text("* filter=old\n")
    set_back(file)
    repo.git(
        *("-c", f"core.attributesFile={attributes}"),
        *("-c", "filter.old.clean=git cat-file blob HEAD:%f", "add", file.name),
        at=file.parent,
    )


def by_the_id_of_its_folder(repo: SampleRepo, file: Path) -> None:
    """Add the file, and then put back the id that its folder had before."""
    index = git_dir(file.parent) / "index"
    repo.git("read-tree", "HEAD", at=file.parent)  # this notes the id
    repo.git("add", "--refresh", ".", at=file.parent)
    _, _, ids = index.read_bytes()[:-CHECKSUM].partition(TREE)
    set_back(file)
    repo.git("add", file.name, at=file.parent)
    entries, _, _ = index.read_bytes().partition(TREE)
    text = entries + TREE + ids
    index.write_bytes(text + hashlib.sha1(text).digest())


def by_a_flag(repo: SampleRepo, file: Path) -> None:
    repo.git("update-index", "--assume-unchanged", file.name, at=file.parent)


WAYS: dict[str, Forge] = {
    "a filter": by_a_filter,
    "the id of its folder": by_the_id_of_its_folder,
}


def rewrite_unnoticed(file: Path, text: str) -> None:
    """Write another text of the same length, and put the times back that can be."""
    before = file.stat()
    while file.stat().st_ctime_ns == before.st_ctime_ns:  # until the clock of the disk goes on
        file.write_text(text)
        set_back(file, before.st_mtime_ns)
    assert file.stat().st_size == before.st_size
