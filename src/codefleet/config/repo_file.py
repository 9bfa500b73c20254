"""A repo's own `fleet.toml` as it is on the trunk, copied to the home.

Agents write to checkouts, and what they write may be a link to a device or an endless file. So the
runner copies the file from the trunk's commit, bounded, and settings are read from that copy.
"""

import json
import os
from pathlib import Path

import msgspec

from codefleet.config.layers import FILE

LARGEST = 64 << 10


class RepoFile(msgspec.Struct, frozen=True):
    """The file on the trunk: the place to show, the blob, its text, or why it cannot be used."""

    place: str
    blob: str = ""
    text: str = ""
    trouble: str = ""


def kept_at(home: Path, repo: str) -> Path:
    """Where the home keeps its copy of a repo's file."""
    return home / "repo-settings" / f"{repo}.json"


def kept(home: Path, repo: str) -> RepoFile:
    """The copy in the home; empty if there is none yet."""
    try:
        return msgspec.json.decode(kept_at(home, repo).read_bytes(), type=RepoFile)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return RepoFile(FILE)


def keep(home: Path, repo: str, file: RepoFile) -> bool:
    """Store this copy in the home; False if it is there already."""
    if kept(home, repo) == file:
        return False
    target = kept_at(home, repo)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(json.dumps(msgspec.to_builtins(file)))
    draft.replace(target)
    return True
