"""Export everything as JSON, and import it again."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from psycopg.errors import UniqueViolation

from codefleet.domain.errors import Invalid, Refused
from codefleet.domain.model import Event
from codefleet.store.export import Nouns
from codefleet.store.nouns import RECORDS, leaving, row
from codefleet.store.postgres import rows, steps, tasks
from codefleet.store.postgres.connection import Connection
from codefleet.store.postgres.steps import Answer
from codefleet.store.postgres.transaction import STATEMENTS, Transaction

_AT_ONCE = 1000
_ALL = {"after": 0, "limit": None}


async def everything(
    connection: Connection, *, moving: bool = False
) -> AsyncIterator[tuple[str, str]]:
    """Every row as (kind of noun, JSON), of what is exported or, if `moving`, of what moves."""
    for kind in leaving(moving=moving):
        as_json = kind.as_json
        async for found in _streamed(connection, *kind.listing):
            yield kind.word, as_json(*found)


async def _streamed(connection: Connection, *names: str) -> AsyncIterator[tuple[Any, ...]]:
    """The rows of a statement, a few at a time: there may be millions."""
    async with connection.cursor("export") as cursor:
        cursor.itersize = _AT_ONCE
        await cursor.execute(STATEMENTS.joined(*names).encode(), _ALL)
        async for row in cursor:
            yield row


async def load(tx: Transaction, nouns: Nouns) -> Answer:
    """Put all nouns into an empty store, inside the open transaction."""
    if await tx.rows("is_used") == [(True,)]:
        raise Refused(
            "an import needs an empty store",
            hint="`fleet reset` empties this one; `fleet export` saves it first",
        )
    await tasks.add(tx, nouns["task"])
    steps.set_all(tx, {setting.name: setting.value for setting in nouns["setting"]})
    try:
        await _load_the_rest(tx, nouns)
    except UniqueViolation as error:
        raise Invalid("the import contains a duplicate", hint=str(error)) from error
    return lambda first: None


async def erase(tx: Transaction, event: Event) -> Answer:
    """Delete everything but this event, which reports it and keeps the seqs rising."""
    tx.tell([event])
    tx.run_each("erase")
    for kind in RECORDS:
        tx.run(f"erase_{kind.table}")
    return lambda first: None


async def _load_the_rest(tx: Transaction, nouns: Nouns) -> None:
    async for some in tx.in_turn(_in_pieces(nouns["run"])):
        tx.run("add_run", rows=[*map(rows.of_run, some)])
    for kind in RECORDS:
        given = [*map(row, nouns.get(kind.word, ()))]
        if given and len(await tx.rows(f"add_{kind.word}", rows=given)) < len(given):
            raise Invalid(
                f"the import contains a duplicate {kind.word}", hint="nothing was imported"
            )
    ((last,),) = await tx.rows("last_seq")
    for some in _in_pieces(nouns["event"]):
        numbered = [{**rows.of_event(one), "seq": last + one.seq} for one in some]
        await tx.rows("add_event_at", rows=numbered)


def _in_pieces(nouns: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(nouns), _AT_ONCE):
        yield nouns[start : start + _AT_ONCE]
