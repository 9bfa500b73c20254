"""A worktree's HEAD log: every move that git in that worktree made.

A branch that is moved from elsewhere leaves no line here.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from codefleet.runner.git.layout import git_dir

LONGEST = 1 << 17
NOTHING = "0" * 40
ANEW = ("fleet: start", "fleet: rejoin")
"""Moves by the fleet after which everything earlier is irrelevant."""
ONTO_BRANCH = ("fleet: start", "fleet: bring home", "fleet: take home")
"""How the fleet attaches HEAD to a branch. Git logs where the branch is then, whoever moved it."""


class Move(NamedTuple):
    """From one commit to another; `old` is all zeros on a branch without any."""

    old: str
    new: str
    why: str


def moves(worktree: Path) -> list[Move]:
    """The moves since the worktree was last prepared, oldest first."""
    text = end_of(git_dir(worktree) / "logs" / "HEAD").decode(errors="replace")
    lines = [line.partition("\t") for line in text.split("\n")]
    words = [(*who.split(" ")[:2], why) for who, _, why in lines]
    found = [_move(*each) for each in words if len(each) == len(Move._fields)]
    begun = [number for number, move in enumerate(found) if move.why.startswith(ANEW)]
    return found[begun[-1] if begun else 0 :]


def _move(old: str, new: str, why: str) -> Move:
    return Move(old, old if why.startswith(ONTO_BRANCH) and old != NOTHING else new, why)


def own_heads(worktree: Path) -> list[str]:
    """The commits that git in this worktree left it at, newest first, whoever moved the branch."""
    return [move.new for move in reversed(moves(worktree)) if move.new.strip("0")]


def end_of(file: Path, longest: int = LONGEST) -> bytes:
    """The last complete lines of a file that agents can write, if it is a regular file."""
    with suppress(OSError):
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as opened:
            facts = os.fstat(handle)
            if stat.S_ISREG(facts.st_mode):
                opened.seek(max(0, facts.st_size - longest))
                text = opened.read(longest)
                return text.partition(b"\n")[2] if facts.st_size > longest else text
    return b""
