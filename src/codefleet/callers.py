"""Who is calling: a human, or something that one of the fleet's agents started.

An agent can change its own environment, but not that of the processes above it, nor which they
are: everything that it starts stays below the keeper of its run. If it kills the keeper, a mark
remains, a resource limit that all its processes inherit: see `codefleet.runner.leftovers`.
"""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from codefleet.domain.model import RunId
from codefleet.ports import Store

TAG = "FLEET_RUN"
KEEPER = b"runner/keeper.py"
LOWEST_MARK = 1 << 45
IN_A_FOLDER = "in "
"""The prefix of the tag of a command that works in a folder and for no run."""


async def caller(store: Store, home: Path) -> RunId | None:
    """The run of this fleet that this process works for; None if a human started it."""
    found = tags()
    known = {run.id for run in await store.runs(ids=[RunId(tag) for tag in found])} if found else ()
    named = next((RunId(tag) for tag in found if tag in known), None)
    return named or below(home) or await _marked(store)


async def _marked(store: Store) -> RunId | None:
    """The live run whose mark this process has inherited."""
    number = own_mark()
    live = await store.runs(live=True) if number else ()
    return next(
        (run.id for run in live if mark_of(run.id, number.bit_length() - 1) == number), None
    )


def own_mark() -> int:
    """The mark of this process; 0 if it has none."""
    _, hard = resource.getrlimit(resource.RLIMIT_RTTIME)
    return hard if hard >= LOWEST_MARK else 0


def mark_of(tag: str, exponent: int) -> int:
    """The number between this power of two and the next that identifies a tag."""
    import hashlib  # here, because a human's call does not need it

    number = int.from_bytes(hashlib.sha256(tag.encode(errors="replace")).digest()[:8])
    return (1 << exponent) + number % (1 << exponent)


def below(home: Path) -> RunId | None:
    """What a keeper or a check of this home started this process for, regardless of the store."""
    here = f"{IN_A_FOLDER}{home.resolve()}{os.sep}"
    return next((RunId(tag) for tag in tags() if tag.startswith(here)), None)


def tags() -> list[str]:
    """The runs and folders that this process and those above it were started for."""
    return list(dict.fromkeys(_tags()))


def _tags() -> Iterator[str]:
    if tag := os.environ.get(TAG):
        yield tag
    pid = os.getpid()
    while pid > 1:
        yield from _told_by(Path(f"/proc/{pid}"))
        pid = _parent(pid)


def _told_by(process: Path) -> Iterator[str]:
    try:
        arguments = (process / "cmdline").read_bytes().split(b"\0")
        variables = (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it belongs to another user, or has ended
        return
    for variable in variables:
        name, _, value = variable.decode(errors="replace").partition("=")
        if name == TAG and value:
            yield value
    match arguments:
        case [*_, keeper, folder, b""] if keeper.endswith(KEEPER):
            where = Path(os.fsdecode(folder))
            yield from (where.name, f"{IN_A_FOLDER}{where.resolve()}")


def _parent(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[1])
