"""Writes, done inside an open transaction: all of them, or an error that undoes all of them.

Several at once are done as one that is their sum, so that a crowd costs hardly more than one.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, NamedTuple

from codefleet.domain.model import Event, Run
from codefleet.ports import Write
from codefleet.store import checks
from codefleet.store.postgres import rows
from codefleet.store.postgres.connection import Reply
from codefleet.store.postgres.tasks import Saving
from codefleet.store.postgres.transaction import Told, Transaction

Answer = Callable[[int], Any]
"""What a step gives once it is committed, from the first seq of its transaction."""
Step = Callable[[Transaction], Awaitable[Answer]]


def nothing(first: int) -> Sequence[Any]:
    """The answer of a step that found nothing to do and wrote nothing."""
    return ()


class _Kind(NamedTuple):
    """How the small nouns are written: field, word, the field that is the key, a column if any."""

    field: str
    word: str
    key: str
    column: str | None = None


_OTHERS = (
    _Kind("questions", "question", "id", "answered_at"),
    _Kind("conflicts", "conflict", "id", "found_at"),
    _Kind("repos", "repo", "name"),
    _Kind("runners", "runner", "id"),
    _Kind("lanes", "lane", "repo"),
    _Kind("messages", "message", "id", "delivered_at"),
    _Kind("rests", "rest", "account"),
    _Kind("workflows", "workflow", "id"),
)


class _Sent(NamedTuple):
    """Rows on their way, and the statement's answer: the ids of those that were written."""

    word: str
    ids: Sequence[str]
    written: Reply


async def write(tx: Transaction, writes: Sequence[Write]) -> list[Answer]:
    """Do all of some writes; each answer is that write's events with their seqs."""
    tasks = [task for one in writes for task in one.tasks]
    saving = Saving(
        tx,
        new=[task for task in tasks if task.version == 0],
        old=[task for task in tasks if task.version > 0],
        fences=[fence for one in writes for fence in one.fences.items()],
    )
    saving.look()
    runs = [run for one in writes for run in one.runs]
    sent = [*_send_runs(tx, runs), *[s for one in writes for s in _send(tx, one)]]
    await saving.judge()
    for one in sent:
        await _refuse_late(one)
    await saving.write()
    return [_events(tx.tell(one.events)) for one in writes]


async def put_runs(tx: Transaction, runs: Sequence[Run]) -> None:
    """Add or replace runs; a task has at most one live one."""
    for one in _send_runs(tx, runs):
        await _refuse_late(one)


def of_kind(word: str, nouns: Sequence[Any]) -> str:
    """The rows of some small nouns, as one parameter."""
    (kind,) = (kind for kind in _OTHERS if kind.word == word)
    return rows.listed(_row(kind, noun) for noun in nouns)


def _events(told: Told) -> Answer:
    def answer(first: int) -> Sequence[Event]:
        return told.numbered(first)

    return answer


def _send_runs(tx: Transaction, runs: Sequence[Run]) -> list[_Sent]:
    """Old ones first: a run may have to end before the next one of its task begins."""
    sent = []
    if old := [run for run in runs if run.version > 0]:
        ids = [run.id for run in old]
        saved = tx.run("save_run", ids=ids, rows=rows.listed(map(rows.of_run, old)))
        sent.append(_Sent("run", ids, saved))
    if new := [run for run in runs if run.version == 0]:
        tx.run("add_run", rows=rows.listed(map(rows.of_run, new)))
    return sent


def _send(tx: Transaction, one: Write) -> list[_Sent]:
    for name, value in one.settings.items():
        if value is None:
            tx.run("drop_setting", name=rows.plain(name))
        else:
            tx.run("set_setting", name=rows.plain(name), value=rows.plain(value))
    return [
        _Sent(kind.word, ids, tx.run(f"{verb}_{kind.word}", rows=listed))
        for kind, verb, ids, listed in _small(one)
    ]


def _small(one: Write) -> Iterator[tuple[_Kind, str, list[str], str]]:
    """The small nouns of a write, by kind and by what is done with them."""
    for kind in _OTHERS:
        nouns = getattr(one, kind.field)
        if not nouns:
            continue
        for verb, some in (
            ("add", [noun for noun in nouns if noun.version == 0]),
            ("save", [noun for noun in nouns if noun.version > 0]),
        ):
            if some:
                ids = [getattr(noun, kind.key) for noun in some]
                yield kind, verb, ids, rows.listed(_row(kind, noun) for noun in some)


def _row(kind: _Kind, noun: Any) -> rows.Row:
    row = {"id": getattr(noun, kind.key), "version": noun.version, "body": rows.body(noun)}
    return {**row, kind.column: getattr(noun, kind.column)} if kind.column else row


async def _refuse_late(sent: _Sent) -> None:
    written = [name for (name,) in await sent.written.rows()]
    if len(written) < len(sent.ids):
        late = [name for name in sent.ids if name not in written] or sent.ids
        raise checks.stale(sent.word, late[0])
