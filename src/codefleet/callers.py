"""Who is calling: a human, or something that one of the fleet's agents started.

An agent can change its own environment, but not that of the processes above it, nor which they
are: everything that it starts stays below the keeper of its run. If it kills the keeper, a mark
remains on Linux, a resource limit that all its processes inherit: see `runner.process.leftovers`.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from codefleet import platform
from codefleet.domain.access import HUMAN, Actor, AgentOf
from codefleet.domain.model import RunId
from codefleet.ports import Store

TAG = "FLEET_RUN"
KEEPER = "process/keeper.py"
LOWEST_MARK = 1 << 45
IN_A_FOLDER = "in "
"""The prefix of the tag of a command that works in a folder and for no run."""


async def actor(store: Store, home: Path) -> Actor:
    """Whom this process works for: the agent of a run of this fleet, or the local human."""
    run = await _run(store, home)
    return AgentOf(run=run) if run else HUMAN


async def _run(store: Store, home: Path) -> RunId | None:
    """By the mark, which nobody can change, or else by what stands furthest above: an agent can
    name another run in the environment of what it starts, but not of what started it."""
    found = tags()
    known = {run.id for run in await store.runs(ids=[RunId(tag) for tag in found])} if found else ()
    named = next((RunId(tag) for tag in reversed(found) if tag in known), None)
    return await _marked(store) or named or below(home)


async def _marked(store: Store) -> RunId | None:
    """The live run whose mark this process has inherited."""
    number = own_mark()
    live = await store.runs(live=True) if number else ()
    return next(
        (run.id for run in live if mark_of(run.id, number.bit_length() - 1) == number), None
    )


def own_mark() -> int:
    """The mark of this process; 0 if it has none."""
    number = platform.own_mark()
    return number if number >= LOWEST_MARK else 0


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
        yield from _told_by(pid)
        pid = platform.processes().parent(pid)


def _told_by(pid: int) -> Iterator[str]:
    processes = platform.processes()
    yield from (_storable(value) for value in processes.variables(pid, TAG) if value)
    match processes.arguments(pid):
        case [*_, keeper, folder] if keeper.endswith(KEEPER):
            where = Path(folder)
            yield from (_storable(where.name), f"{IN_A_FOLDER}{where.resolve()}")


def _storable(text: str) -> str:
    """Bytes that are not UTF-8 cannot be looked up in a store."""
    return os.fsencode(text).decode(errors="replace")
