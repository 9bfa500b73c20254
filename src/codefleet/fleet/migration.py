"""Moving a fleet from one store to another, with proof that nothing was lost."""

import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from codefleet.domain.errors import Refused, StoreTrouble
from codefleet.domain.model import Repo
from codefleet.fleet import Fleet
from codefleet.fleet.export import refuse_while_alive
from codefleet.ports import Store

TELL_EVERY = 10_000

Tell = Callable[[str], None]


class Sum(NamedTuple):
    """How many nouns of a kind there are, and a hash of all of them in order."""

    many: int
    hash: str


async def migrate(
    fleet: Fleet, target: Store, *, dead: Collection[str], tell: Tell
) -> Mapping[str, Sum]:
    """Copy a whole fleet to an empty store and compare; the old store is not changed.

    Refused while a runner that is not `dead` is active. Live runs continue in the new store: the
    next runner there adopts their agents.
    """
    await refuse_while_alive(fleet.core, dead)
    await _refuse_used(target)
    source = fleet.core.store
    last = await source.last_seq()
    await _copy(source, target, tell)
    tell("written; comparing both")
    sums = await _sums(target.export(moving=True))
    _refuse_difference(await _sums(source.export(moving=True)), sums)
    if await source.last_seq() != last:
        raise _differs("someone wrote to the old one meanwhile")
    return sums


async def _copy(source: Store, target: Store, tell: Tell) -> None:
    rows = []
    async for row in source.export(moving=True):
        rows.append(row)
        if len(rows) % TELL_EVERY == 0:
            tell(f"read {len(rows):,} rows")
    tell(f"read {len(rows):,} rows; writing them")
    await target.load(rows)


async def _refuse_used(target: Store) -> None:
    if await target.last_seq() or await target.counts() or await target.records(Repo):
        raise Refused(
            "a fleet can move only to an empty store, and this one is in use",
            hint="name a new database or file",
        )


async def _sums(rows: AsyncIterator[tuple[str, str]]) -> dict[str, Sum]:
    many: Counter[str] = Counter()
    hashes: defaultdict[str, Any] = defaultdict(sha256)
    async for kind, text in rows:
        many[kind] += 1
        hashes[kind].update(_canonical(text))
    return {kind: Sum(many[kind], hashes[kind].hexdigest()) for kind in many}


def _canonical(text: str) -> bytes:
    """The same for the same noun in every store; not every store can hold the character NUL."""
    ordered = json.dumps(json.loads(text), sort_keys=True)
    return ordered.replace("\\u0000", "\\ufffd").encode() + b"\n"


def _refuse_difference(old: Mapping[str, Sum], new: Mapping[str, Sum]) -> None:
    for kind in sorted({*old, *new}):
        if old.get(kind) != new.get(kind):
            raise _differs(f"{_many(old, kind)} there, {_many(new, kind)} here, not the same")


def _many(sums: Mapping[str, Sum], kind: str) -> str:
    found = sums.get(kind)
    return f"{found.many if found else 0} {kind}s"


def _differs(why: str) -> StoreTrouble:
    return StoreTrouble(
        f"the copy is not the same as the old store: {why}",
        hint="the old one is unchanged; start again with an empty store",
    )
