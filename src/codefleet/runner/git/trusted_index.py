"""A worktree's index of which the agent says only what files there are.

Git takes a file for unchanged if the index says so: by a flag, by the times and the size that the
file had, or by the id of a whole folder. An agent can write all of that into its index. So before
work is saved, the index is made anew: from the list of its files, and from what a copy in the
fleet's home says about them, which was made before the agent started. Git then reads every file
that has changed since, because nobody can set a file's ctime.
"""

import hashlib
import os
import re
import shutil
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.trusted_view import view_for

HEADER = struct.Struct(">4sLL")
STATE = struct.Struct(">24sL12s")
"""Of each file: its times and inode, its mode, its owner and size. The id follows."""
FLAGS = struct.Struct(">H")
SIGNATURE, VERSION = b"DIRC", 3
READABLE = (2, 3)
"""Versions of the format in which an entry does not depend on the one before."""
EXTENDED = LEFT_OUT = 0x4000
LONGEST = 0xFFF
HASHES = {20: "sha1", 32: "sha256"}
LISTED = re.compile(r"(\w) (\d+) (\w+) (\d)\t(.+)", re.DOTALL)


class Entry(NamedTuple):
    """A file in the index: what identifies its content, and how it is there."""

    path: bytes
    mode: int
    id: bytes
    stage: int = 0
    is_left_out: bool = False


State = tuple[bytes, bytes]
UNKNOWN: State = (bytes(24), bytes(12))


def note_index(worktree: Path) -> None:
    """Copy the index to the fleet's home, before an agent can change it."""
    copy = _copy_of(worktree)
    if copy is None:
        return
    draft = copy.with_name(f"{copy.name}.{os.getpid()}.new")
    with suppress(OSError):  # then every file is read
        shutil.copy2(git_dir(worktree) / "index", draft)
        draft.replace(copy)


def restore_index(worktree: Path) -> None:
    """Put back the index that was copied; without one, git will write every file."""
    index, copy = git_dir(worktree) / "index", _copy_of(worktree)
    index.unlink(missing_ok=True)
    if copy and copy.exists():
        shutil.copy2(copy, index)


def renew_index(worktree: Path, listed: Iterable[str], *, is_sparse: bool = False) -> None:
    """Write the index anew, from what `git ls-files -v --stage` lists of it.

    Flags that hide files are dropped, except in a sparse checkout.
    """
    entries = [_entry(line, is_sparse) for line in listed]
    index, copy = git_dir(worktree) / "index", _copy_of(worktree)
    try:
        if entries:
            _write(index, entries, _known(copy, len(entries[0].id)) if copy else {})
        else:
            index.unlink(missing_ok=True)
    except OSError as trouble:
        raise WorkspaceTrouble(
            f"cannot write {trouble.filename or index}: {trouble.strerror}",
            hint="is git running there?",
        ) from None


def _write(index: Path, entries: Sequence[Entry], known: Mapping[Entry, State]) -> None:
    packed = [_packed(each, known) for each in entries]
    text = HEADER.pack(SIGNATURE, VERSION, len(packed)) + b"".join(packed)
    lock = index.with_name("index.lock")
    with lock.open("xb") as draft:
        draft.write(text + hashlib.new(HASHES[len(entries[0].id)], text).digest())
    lock.replace(index)


def _copy_of(worktree: Path) -> Path | None:
    view = view_for(worktree)
    return view.folder / f"index-{git_dir(worktree).name}" if view else None


def _entry(line: str, is_sparse: bool) -> Entry:
    found = LISTED.fullmatch(line)
    assert found, line
    tag, mode, name, stage, path = found.groups()
    where = path.encode(errors="surrogateescape")
    return Entry(where, int(mode, 8), bytes.fromhex(name), int(stage), is_sparse and tag in "Ss")


def _known(copy: Path, id_length: int) -> Mapping[Entry, State]:
    """What the copy says about files, without those that may have changed right after it was made.

    Git compares whole seconds. Nothing is known if we cannot read the copy.
    """
    with suppress(OSError, ValueError, struct.error):
        made, states = int(copy.stat().st_mtime), _states(copy.read_bytes(), id_length)
        return {entry: state for entry, state in states if _seconds(state) < made}
    return {}


def _states(index: bytes, id_length: int) -> Iterator[tuple[Entry, State]]:
    _, version, many = HEADER.unpack_from(index)
    at = HEADER.size
    for _ in range(many if version in READABLE else 0):
        times, mode, size = STATE.unpack_from(index, at)
        flags_at = at + STATE.size + id_length
        (flags,) = FLAGS.unpack_from(index, flags_at)
        begin = flags_at + FLAGS.size * (2 if flags & EXTENDED else 1)
        end = index.index(0, begin)
        yield Entry(index[begin:end], mode, index[at + STATE.size : flags_at]), (times, size)
        at += _padded(end - at)


def _seconds(state: State) -> int:
    """When a file last changed in any way."""
    return int.from_bytes(state[0][:4], "big")


def _packed(entry: Entry, known: Mapping[Entry, State]) -> bytes:
    times, size = known.get(entry, UNKNOWN)
    flags = entry.stage << 12 | min(len(entry.path), LONGEST)
    words = (flags | EXTENDED, LEFT_OUT) if entry.is_left_out else (flags,)
    text = STATE.pack(times, entry.mode, size) + entry.id
    text += b"".join(map(FLAGS.pack, words)) + entry.path
    return text.ljust(_padded(len(text)), b"\0")


def _padded(length: int) -> int:
    """Each entry ends with one to eight zeros."""
    return length // 8 * 8 + 8
