"""Export everything as JSON, and import it again."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from psycopg.errors import UniqueViolation

from codefleet.domain.errors import Invalid, Refused
from codefleet.domain.model import Event
from codefleet.store.exchange import Nouns
from codefleet.store.nouns import event_json
from codefleet.store.postgres import rows, steps, tasks
from codefleet.store.postgres.connection import Connection
from codefleet.store.postgres.steps import Answer
from codefleet.store.postgres.transaction import STATEMENTS, Transaction

_AT_ONCE = 1000
_PLAIN = (
    ("repo", ("repos",)),
    ("task", ("all_tasks",)),
    ("run", ("runs", "oldest_run_first")),
    ("question", ("questions", "oldest_question_first")),
    ("conflict", ("conflicts",)),
    ("message", ("messages", "oldest_message_first")),
    ("workflow", ("workflows", "oldest_workflow_first")),
)
_ALL = {"since": None, "after": 0, "limit": None}


async def everything(connection: Connection) -> AsyncIterator[tuple[str, str]]:
    """Every row as (kind of noun, JSON). Runners, lanes and rests are transient and left out."""
    for kind, names in _PLAIN:
        async for (body,) in _streamed(connection, *names):
            yield kind, body
    async for name, value in _streamed(connection, "settings"):
        yield "setting", json.dumps({"name": name, "value": value})
    async for seq, body in _streamed(connection, "events", "first_events"):
        yield "event", event_json(seq, body)


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
    for name, value in nouns["setting"]:
        tx.run("set_setting", name=rows.plain(name), value=rows.plain(value))
    try:
        await _load_the_rest(tx, nouns)
    except UniqueViolation as error:
        raise Invalid("the import contains a duplicate", hint=str(error)) from error
    return lambda first: None


async def erase(tx: Transaction, event: Event) -> Answer:
    """Delete everything but this event, which reports it and keeps the seqs rising."""
    tx.tell([event])
    tx.run_each("erase")
    return lambda first: None


async def _load_the_rest(tx: Transaction, nouns: Nouns) -> None:
    async for some in tx.in_turn(_in_pieces(nouns["run"])):
        tx.run("add_run", rows=[*map(rows.of_run, some)])
    for word in ("question", "conflict", "message", "workflow", "repo"):
        added = await tx.rows(f"add_{word}", rows=steps.of_kind(word, nouns[word]))
        if len(added) < len(nouns[word]):
            raise Invalid(f"the import contains a duplicate {word}", hint="nothing was imported")
    ((given,),) = await tx.rows("last_seq")
    for some in _in_pieces(nouns["event"]):
        numbered = [{**rows.of_event(one), "seq": given + one.seq} for one in some]
        await tx.rows("add_event_at", rows=numbered)


def _in_pieces(nouns: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(nouns), _AT_ONCE):
        yield nouns[start : start + _AT_ONCE]
