"""The fleet's files in a repo, read from its trunk, plain and bounded, not from a checkout."""

import os
import re
from pathlib import Path

from codefleet.config import FILE, RepoFile
from codefleet.config.repo_file import LARGEST, keep, kept
from codefleet.domain.model import Repo
from codefleet.runner.git.git import Git
from codefleet.runner.git.object_reader import look_up
from codefleet.runner.git.trusted_view import common_dir_of

PLAIN_FILE = ("100644", "100755")
ENTRY = re.compile(r"(?P<mode>\d+) \w+ (?P<blob>\w+) +(?P<size>\d+|-)\t")
LONGEST_S = 30.0

Stamp = tuple[tuple[int, ...] | None, ...]


async def at_commit(repo: Path, ref: str, name: str = FILE, known: str = "") -> RepoFile | None:
    """The file as this commit has it, or what is wrong with it; None if there is no such commit,
    or if it is still the `known` blob."""
    git, place = Git(repo), str(repo / name)
    there = await look_up(repo, f"{ref}^{{commit}}", f"{ref}:{name}")
    if there and there[0] and (there[1] is None or there[1].id == known):
        return None if there[1] else RepoFile(place)
    words = ("ls-tree", "-l", "-z", ref, "--", name)
    listed = await git.run(*words, within_s=LONGEST_S)  # a partial clone asks its remote
    if listed.code:
        return None
    if not listed.out:
        return RepoFile(place)
    entry = ENTRY.match(listed.out)
    if entry is None or entry["blob"] == known:
        return None
    mode, blob, size = entry["mode"], entry["blob"], entry["size"]
    if mode not in PLAIN_FILE:
        return RepoFile(place, blob, trouble=f"{place}: on the trunk it is not a plain file")
    if int(size) > LARGEST:
        return RepoFile(place, blob, trouble=f"{place}: on the trunk it is over {LARGEST} bytes")
    text = await git("cat-file", "blob", blob)
    if not _is_text(text):
        return RepoFile(place, blob, trouble=f"{place}: on the trunk it is not UTF-8 text")
    return RepoFile(place, blob, text)


async def copy_repo_settings(home: Path, repo: Repo) -> bool:
    """Copy the repo's settings from its trunk to the home; True if they are new."""
    known = kept(home, repo.name)
    same_place = known.place == str(Path(repo.path) / FILE)
    found = await at_commit(Path(repo.path), repo.trunk_ref, known=known.blob * same_place)
    return found is not None and keep(home, repo.name, found)


async def differs(repo: Repo) -> bool:
    """Does the checkout's `fleet.toml` differ from the trunk's, which is the one that counts?"""
    checkout = Path(repo.path)
    if not (checkout / ".git").exists():
        return False
    on_trunk = await at_commit(checkout, repo.trunk_ref)
    if on_trunk is None or not on_trunk.blob:
        return os.path.lexists(checkout / FILE)
    return (await Git(checkout).run("diff", "--quiet", repo.trunk_ref, "--", FILE)).code == 1


def stamp(repo: Repo) -> Stamp:
    """A value that changes when the trunk moves, obtained without git."""
    shared = common_dir_of(Path(repo.path))
    names = (repo.trunk_ref, "packed-refs", "reftable/tables.list")
    return tuple(_seen(shared / name) for name in names) if shared else ()


def _seen(file: Path) -> tuple[int, ...] | None:
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns


def _is_text(text: str) -> bool:
    try:
        return "\0" not in text and text.encode() is not None
    except UnicodeEncodeError:  # bytes in git's output that are not text are surrogates
        return False
